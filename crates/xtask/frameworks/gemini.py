"""Google's package, with the wire form of generateContent."""

import json
import sys

from scripted import Turn, main


def parts_of(content):
    return (content or {}).get("parts", [])


def read(path, body):
    assert path.split("?")[0].endswith(":generateContent"), path
    tools = [tool for tools in body["tools"] for tool in tools["functionDeclarations"]]
    parts = [part for content in body["contents"] for part in parts_of(content)]
    return Turn(
        system="".join(part.get("text", "") for part in parts_of(body["systemInstruction"])),
        tools={tool["name"]: schema_of(tool)["properties"] for tool in tools},
        results=[
            json.dumps(part["functionResponse"]["response"], ensure_ascii=False)
            for part in parts
            if "functionResponse" in part
        ],
    )


def schema_of(tool):
    return tool.get("parameters_json_schema") or tool["parameters"]


def reply(part):
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
    }


def call(name, arguments, number):
    return reply({"functionCall": {"id": f"call_{number}", "name": name, "args": arguments}})


def say(text):
    return reply({"text": text})


main("gemini", "google-genai", lambda: sys.modules[__name__], lambda address: {
    "GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": "none", "AGENT_MODEL": "scripted",
})
