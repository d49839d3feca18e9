"""Anthropic's package, with the wire form of its messages.

The package lets the server keep the conversation: a request that continues one
names the last message of it, and carries only what is new.
"""

from scripted import Turn, main


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


class Messages:
    def __init__(self):
        # The conversation that each message of ours is the last of.
        self.kept = {}
        self.turn = None

    def read(self, path, body):
        assert path.split("?")[0] == "/v1/messages", path
        thread = body.get("thread", {})
        if thread.get("type") == "continue":
            self.turn = self.kept[thread["previous_message_id"]]
        else:
            tools = {tool["name"]: tool["input_schema"]["properties"] for tool in body["tools"]}
            self.turn = Turn(text_of(body["system"]), tools, [])
        for message in body["messages"]:
            if isinstance(message["content"], list):
                self.turn.results += [
                    text_of(part["content"])
                    for part in message["content"]
                    if part["type"] == "tool_result"
                ]
        return self.turn

    def reply(self, block, reason):
        identifier = f"msg_{len(self.kept) + 1}"
        self.kept[identifier] = self.turn
        return {
            "id": identifier, "type": "message", "role": "assistant", "model": "scripted",
            "content": [block], "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def call(self, name, arguments, number):
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
        return self.reply(block, "tool_use")

    def say(self, text):
        return self.reply({"type": "text", "text": text}, "end_turn")


main("claude", "anthropic", Messages, lambda address: {
    "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none", "AGENT_MODEL": "scripted",
})
