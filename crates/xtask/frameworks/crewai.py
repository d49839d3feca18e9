"""CrewAI, with a model that speaks chat completions."""

import chat_completions
from scripted import main

main("crewai", "crewai", lambda: chat_completions, lambda address: {
    "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none", "AGENT_MODEL": "openai/gpt-4o",
    "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
})
