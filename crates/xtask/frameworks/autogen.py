"""AutoGen, with a model that speaks chat completions."""

import chat_completions
from scripted import main

# The package asks for a name that it knows the abilities of.
main("autogen", "autogen-agentchat", lambda: chat_completions, lambda address: {
    "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none", "AGENT_MODEL": "gpt-4o",
})
