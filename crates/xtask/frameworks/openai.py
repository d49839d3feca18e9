"""The OpenAI Agents SDK, with the wire form of responses."""

import json
import sys

from scripted import Turn, main


def read(path, body):
    assert path.endswith("/responses"), path
    assert not body.get("stream"), "no stream was expected"
    items = [item for item in body["input"] if isinstance(item, dict)]
    return Turn(
        system=body["instructions"],
        tools={tool["name"]: tool["parameters"]["properties"] for tool in body["tools"]},
        results=[item["output"] for item in items if item.get("type") == "function_call_output"],
    )


def reply(item):
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "scripted",
        "status": "completed", "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "output": [item], "parallel_tool_calls": False, "temperature": 1.0,
        "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "usage": {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
        },
    }


def call(name, arguments, number):
    return reply({
        "type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
        "name": name, "arguments": json.dumps(arguments), "status": "completed",
    })


def say(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return reply({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": content,
    })


main("openai", "openai-agents", lambda: sys.modules[__name__], lambda address: {
    "OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "none", "AGENT_MODEL": "scripted",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
})
