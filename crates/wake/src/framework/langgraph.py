# pip install langgraph langchain langchain-openai httpx
import os
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.messages import SystemMessage

from wake import deliver, wait_for_answer

graph = create_agent(
    os.environ["AGENT_MODEL"],  # such as openai:NAME
    tools=[deliver, wait_for_answer],
    system_prompt=SystemMessage(Path("wake-prompt.md").read_text(encoding="utf-8")),
)
state = graph.invoke({"messages": [{"role": "user", "content": sys.argv[1]}]})
print(state["messages"][-1].text)
