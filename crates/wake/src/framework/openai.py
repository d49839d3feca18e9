# pip install openai-agents httpx
import os
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool

from wake import deliver, wait_for_answer

agent = Agent(
    name=os.environ["WAKE_AGENT_ID"],
    model=os.environ["AGENT_MODEL"],
    instructions=Path("wake-prompt.md").read_text(encoding="utf-8"),
    tools=[function_tool(deliver), function_tool(wait_for_answer)],
)
print(Runner.run_sync(agent, sys.argv[1]).final_output)
