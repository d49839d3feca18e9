"""LangGraph, with a model that speaks chat completions."""

import chat_completions
from scripted import main

main("langgraph", "langgraph", lambda: chat_completions, lambda address: {
    "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none", "AGENT_MODEL": "openai:scripted",
})
