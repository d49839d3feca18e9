# pip install crewai httpx
import os
import sys
from pathlib import Path

from crewai import Agent, Crew, Task
from crewai.tools import tool

from wake import deliver, wait_for_answer

agent = Agent(
    role="An agent that works on its own",
    goal="Do the task, and let a person judge what deserves it",
    backstory=Path("wake-prompt.md").read_text(encoding="utf-8"),
    tools=[tool(deliver), tool(wait_for_answer)],
    llm=os.environ["AGENT_MODEL"],
    cache=False,  # an answer must come from the person each time
)
task = Task(description=sys.argv[1], expected_output="What was done", agent=agent)
print(Crew(agents=[agent], tasks=[task], cache=False).kickoff().raw)
