# pip install openai-agents httpx
import os
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool

from wake import deliver, wait_for_answer


def failed(_, error):
    """What the model is told of a tool that failed: why, not just to try again."""
    return str(error)


agent = Agent(
    name=os.environ["WAKE_AGENT_ID"],
    model=os.environ["AGENT_MODEL"],
    instructions=Path("wake-prompt.md").read_text(encoding="utf-8"),
    tools=[
        function_tool(tool, failure_error_function=failed)
        for tool in (deliver, wait_for_answer)
    ],
)
print(Runner.run_sync(agent, sys.argv[1]).final_output)
