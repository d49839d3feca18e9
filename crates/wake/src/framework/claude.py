# pip install anthropic httpx
import os
import sys
from pathlib import Path

from anthropic import Anthropic, beta_tool

from wake import deliver, wait_for_answer

runner = Anthropic().beta.messages.tool_runner(
    model=os.environ["AGENT_MODEL"],
    max_tokens=4096,
    system=Path("CLAUDE.md").read_text(encoding="utf-8"),
    tools=[beta_tool(deliver), beta_tool(wait_for_answer)],
    messages=[{"role": "user", "content": sys.argv[1]}],
)
last = runner.until_done()
print("".join(block.text for block in last.content if block.type == "text"))
