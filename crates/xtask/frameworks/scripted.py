"""Runs what `wakeful prompt --for NAME` prints, with a model that follows a script.

The prompt and both programs are taken from the printed text and put into files
as it says. The second program is then run as it stands: the real package sends
the prompt and its tools to a model endpoint, which is ours, on loopback, and
answers in the provider's wire form. It calls `deliver`, then `wait_for_answer`,
and says at the end what it was told. A person answers through the API meanwhile.
Then all of it is done again with a key that the server refuses: the package must
end, or tell the model of the refusal.

Environment: WAKEFUL, the program under test.
"""

import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import httpx

AGENT = "scripted-01"
HEADLINE = "Compared ten suppliers"
TASK = "Compare ten suppliers and let a person choose one."
PATIENCE_SECONDS = 120


class Broken(Exception):
    """Something is not as it must be; says what."""


def must(condition, otherwise):
    if not condition:
        raise Broken(otherwise)


def flat(text):
    """Without differences in white space, which frameworks add."""
    return " ".join(text.split())


class Turn:
    """What a request to a model says, whatever the provider's wire form."""

    def __init__(self, system, tools, results):
        self.system = system
        # Names of parameters by the name of their tool.
        self.tools = tools
        # What the tools gave so far, in order.
        self.results = results


class Wakeful:
    """A server on loopback with a person and an agent."""

    def __init__(self, directory):
        self.program, self.data = os.environ["WAKEFUL"], str(directory / "data")
        os.mkdir(self.data, 0o700)
        self.token = self.json("user", "create", "ann", "--role", "owner")["token"]
        serve = [self.program, "serve", "--listen", "127.0.0.1:0", "--data", self.data]
        log = subprocess.PIPE
        self.server = subprocess.Popen(serve, stdin=subprocess.DEVNULL, stderr=log, text=True)
        for line in self.server.stderr:
            if line.startswith("{") and json.loads(line).get("message") == "listening":
                self.address = json.loads(line)["address"]
                break
        else:
            raise Broken("the server does not start")
        threading.Thread(target=self.server.stderr.read, daemon=True).start()
        self.key = self.json("key", "create", "--agent", AGENT)["key"]

    def run(self, *arguments):
        command = [self.program, *arguments, "--data", self.data]
        done = subprocess.run(command, capture_output=True, text=True)
        must(done.returncode == 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def answer(self, delivery_id, answer):
        url = f"{self.address}/api/v1/inbox/{delivery_id}/respond"
        bearer = {"Authorization": f"Bearer {self.token}"}
        httpx.post(url, headers=bearer, json=answer, trust_env=False).raise_for_status()

    def item(self, delivery_id):
        url = f"{self.address}/api/v1/inbox/{delivery_id}"
        bearer = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(url, headers=bearer, trust_env=False).raise_for_status().json()

    def stop(self):
        self.server.terminate()
        self.server.wait()


def unpack(printed, directory):
    """Puts each block into the file that the line before it names; gives their texts."""
    blocks = re.findall(r"`([\w.-]+)`[^\n]*\n\n```\w*\n(.*?)\n```(?:\n|$)", printed, re.DOTALL)
    files = dict(blocks)
    must(len(files) == 3 and "wake.py" in files, f"these are the blocks: {list(files)}")
    for name, text in files.items():
        (directory / name).write_text(text + "\n", encoding="utf-8")
    return files


class Model:
    """The endpoint of a model that follows the script."""

    def __init__(self, wire, prompt, wakeful, answer):
        self.wire, self.prompt, self.wakeful, self.answer = wire, prompt, wakeful, answer
        self.faults, self.delivery_id, self.turns, self.refusals = [], None, 0, 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    status, reply = 200, model.reply(self.path, body)
                except Exception as fault:
                    traceback.print_exc()
                    model.faults.append(str(fault))
                    status, reply = 400, {"error": {"message": str(fault)}}
                reply = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def reply(self, path, body):
        turn = self.wire.read(path, body)
        self.turns += 1
        must(flat(self.prompt) in flat(turn.system), "the system prompt is not the printed one")
        wanted = {"type", "headline", "summary", "details", "timeout_seconds"}
        must(set(turn.tools.get("deliver", ())) == wanted, f"deliver is offered as {turn.tools}")
        must(set(turn.tools.get("wait_for_answer", ())) == {"delivery_id"}, f"{turn.tools}")
        if self.answer is None and turn.results:
            must("status 401" in turn.results[-1], f"a refusal was told as {turn.results[-1]}")
            self.refusals += 1
            return self.wire.say("The key is refused, so I stop.")
        match turn.results:
            case []:
                return self.wire.call("deliver", {
                    "type": "question", "headline": HEADLINE,
                    "summary": "Two of ten suppliers are left.",
                    "details": "Which one shall it be?", "timeout_seconds": 600,
                }, 1)
            case [delivered]:
                found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", delivered)
                must(found, f"deliver gave no id: {delivered}")
                self.delivery_id = found.group()
                threading.Thread(target=self.person, daemon=True).start()
                return self.wire.call("wait_for_answer", {"delivery_id": self.delivery_id}, 2)
            case [_, answered]:
                for part in (self.answer["status"], self.answer["feedback"]):
                    must(part in answered, f"the answer did not come through: {answered}")
                return self.wire.say(f"The person says {self.answer['status']}: {self.answer['feedback']}")
        raise Broken(f"{len(turn.results)} results of tools are too many: {turn.results}")

    def person(self):
        """Answers after the agent has asked once and found nothing."""
        try:
            time.sleep(1.5)
            item = self.wakeful.item(self.delivery_id)
            must(item["headline"] == HEADLINE and item["agent_id"] == AGENT, f"{item}")
            self.wakeful.answer(self.delivery_id, self.answer)
        except Exception as fault:
            self.faults.append(f"the person could not answer: {fault}")


def run_agent(directory, wakeful, model, key, environment):
    """Runs agent.py as it was printed, with an environment that holds nothing else of ours."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "agent.py", TASK], cwd=directory, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS, stdin=subprocess.DEVNULL,
        env={
            **kept, **environment(model.address), "HOME": str(directory),
            "WAKE_ENDPOINT": f"{wakeful.address}/wake/v1", "WAKE_API_KEY": key,
            "WAKE_AGENT_ID": AGENT, "WAKE_POLL_SECONDS": "1",
        },
    )


def said(done):
    return f"\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def answered(directory, wakeful, wire, prompt, environment):
    """A person answers; gives what the agent said at the end."""
    word = secrets.token_hex(8)
    answer = {"status": "redirected", "feedback": f"Take the smaller one, {word}."}
    model = Model(wire, prompt, wakeful, answer)
    done = run_agent(directory, wakeful, model, wakeful.key, environment)
    must(not model.faults, f"{'; '.join(model.faults)}{said(done)}")
    must(done.returncode == 0, f"agent.py ended with {done.returncode}{said(done)}")
    must(word in done.stdout, f"agent.py did not say what it was told{said(done)}")
    log = [json.loads(line) for line in (directory / "wake.log").read_text().splitlines()]
    must(log[-1]["answered"]["delivery_id"] == model.delivery_id, f"it logged {log}")
    return next(line for line in done.stdout.splitlines() if word in line)


def refused(directory, wakeful, wire, prompt, environment):
    """The server refuses the key; gives how the agent learned of it."""
    model = Model(wire, prompt, wakeful, None)
    done = run_agent(directory, wakeful, model, "wk_live_unknown", environment)
    must(not model.faults, f"{'; '.join(model.faults)}{said(done)}")
    if model.refusals:
        return "told the model"
    ended = done.returncode != 0 and "status 401" in done.stderr
    must(ended, f"nobody learned of the refusal{said(done)}")
    return "ended the run"


def play(name, wire, environment):
    """Plays the script with one framework; gives what was learned, or fails.

    `wire` makes a provider's wire form, `environment` what points the package at
    the model's address.
    """
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        wakeful = Wakeful(directory)
        try:
            files = unpack(wakeful.run("prompt", "--agent", AGENT, "--for", name), directory)
            prompt = next(text for file, text in files.items() if file.endswith(".md"))
            return {
                "learned": answered(directory, wakeful, wire(), prompt, environment),
                "refusal": refused(directory, wakeful, wire(), prompt, environment),
            }
        finally:
            wakeful.stop()


def main(name, package, wire, environment):
    try:
        print(json.dumps({"version": version(package), **play(name, wire, environment)}))
    except (Broken, subprocess.TimeoutExpired) as fault:
        sys.exit(f"{version(package)}: {fault}")
    except Exception:
        sys.exit(f"{version(package)}: {traceback.format_exc()}")
