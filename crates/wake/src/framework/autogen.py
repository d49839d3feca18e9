# pip install autogen-agentchat "autogen-ext[openai]" httpx
import asyncio
import os
import sys
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

from wake import deliver, wait_for_answer

agent = AssistantAgent(
    name="assistant",
    model_client=OpenAIChatCompletionClient(model=os.environ["AGENT_MODEL"]),
    tools=[deliver, wait_for_answer],
    system_message=Path("wake-prompt.md").read_text(encoding="utf-8"),
    max_tool_iterations=20,
)
result = asyncio.run(agent.run(task=sys.argv[1]))
print(result.messages[-1].content)
