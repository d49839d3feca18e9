"""Anthropic's package, with the wire form of its messages."""

import sys

from scripted import Turn, main


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def read(path, body):
    assert path.split("?")[0].endswith("/v1/messages"), path
    parts = [
        part
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    ]
    return Turn(
        system=text_of(body["system"]),
        tools={tool["name"]: tool["input_schema"]["properties"] for tool in body["tools"]},
        results=[text_of(part["content"]) for part in parts if part["type"] == "tool_result"],
    )


def reply(block, reason):
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
        "content": [block], "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def call(name, arguments, number):
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
    return reply(block, "tool_use")


def say(text):
    return reply({"type": "text", "text": text}, "end_turn")


main("claude", "anthropic", sys.modules[__name__], lambda address: {
    "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "AGENT_MODEL": "scripted",
})
