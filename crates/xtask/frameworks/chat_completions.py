"""The wire form of OpenAI's chat completions, which several frameworks speak."""

import json

from scripted import Turn


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def read(path, body):
    assert path.endswith("/chat/completions"), path
    assert not body.get("stream"), "no stream was expected"
    said = [(message["role"], text_of(message.get("content"))) for message in body["messages"]]
    tools = [tool["function"] for tool in body.get("tools", [])]
    return Turn(
        system="\n".join(text for role, text in said if role in ("system", "developer")),
        tools={tool["name"]: tool["parameters"]["properties"] for tool in tools},
        results=[text for role, text in said if role == "tool"],
    )


def reply(message, reason):
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def call(name, arguments, number):
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": f"call_{number}", "type": "function", "function": function}]
    return reply({"content": None, "tool_calls": calls}, "tool_calls")


def say(text):
    return reply({"content": text}, "stop")
