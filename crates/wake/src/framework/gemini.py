# pip install google-genai httpx
import os
import sys
from pathlib import Path

from google import genai
from google.genai import types

from wake import deliver, wait_for_answer

client = genai.Client()
chat = client.chats.create(
    model=os.environ["AGENT_MODEL"],
    config=types.GenerateContentConfig(
        system_instruction=Path("wake-prompt.md").read_text(encoding="utf-8"),
        tools=[deliver, wait_for_answer],
    ),
)
print(chat.send_message(sys.argv[1]).text)
