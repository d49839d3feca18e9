"""Runs sample code as it stands in a document.

    from_document.py DOCUMENT START [MODE …]

The code begins at the first line that starts with START, and is as long as it
is Python. What it names and does not define is told to the test when called.

    run                         as a program
    call NAME ARGUMENT          as a program, then one of its functions, twice
    receive [START] CERTIFICATE KEY
                                as the functions of a callback receiver; at START
                                stand the lines that belong inside its handler
"""

import ast
import base64
import builtins
import json
import os
import sys
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx

import lines

ENDPOINT = os.environ["WAKE_ENDPOINT"]


def sample(document, start, wrap=lambda lines: lines):
    with open(document, encoding="utf-8") as file:
        text = file.read().split("\n")
    first = next(n for n, line in enumerate(text) if line.startswith(start))
    best = None
    for end in range(first + 1, min(first + 150, len(text)) + 1):
        if text[end - 1].startswith("Node"):
            break
        code = "\n".join(wrap(text[first:end]))
        try:
            compile(code, document, "exec")
        except SyntaxError:
            continue
        best = code
    return best


def without_definition(code):
    names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names} - stored - set(dir(builtins))


class Running:
    """True until the test ends a rest with another word than "go"."""

    going = True

    def __bool__(self):
        return self.going


def told(name):
    return lambda *arguments: lines.tell("called", [name, *arguments])


def surroundings(code):
    running = Running()

    def rest(seconds):
        lines.tell("resting", seconds)
        if seconds <= 5:
            return really_sleep(seconds)
        word = lines.hear()
        if not word:
            sys.exit("the test is gone")
        running.going = word == "go"

    really_sleep, time.sleep = time.sleep, rest
    key = os.environ["WAKE_API_KEY"]
    agent = os.environ["WAKE_AGENT_ID"]
    known = {
        "httpx": httpx,
        "time": time,
        "WAKE_ENDPOINT": ENDPOINT,
        "HEADERS": {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        "agent_id": agent,
        "poll_interval": 60,
        "agent_is_running": running,
        "payload": {
            "agent_id": agent,
            "provider": "claude",
            "type": "update",
            "headline": "Half done",
            "summary": "Five of ten are read.",
        },
    }
    return {**{name: told(name) for name in without_definition(code)}, **known}


def stay_here(method):
    """Requests to a host that is written into the code go to the server under test."""

    def call(url, **more):
        wanted, here = urlsplit(url), urlsplit(ENDPOINT)
        if wanted.netloc != here.netloc:
            url = f"{here.scheme}://{here.netloc}{wanted.path}"
        answer = method(url, **more)
        lines.tell("status", [answer.request.method, answer.status_code])
        return answer

    return call


def receive(namespace, certificate, key):
    import ssl
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Callback(BaseHTTPRequestHandler):
        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            claimed = self.headers["X-Wake-Signature"]
            status = namespace["handler"](SimpleNamespace(body=raw, headers=self.headers))
            if status == 401:
                lines.tell("refused", claimed)
            else:
                delivery_id = self.headers["X-Wake-Delivery-Id"]
                encoded = base64.b64encode(raw).decode()
                body = json.loads(raw)
                told = {"signature": claimed, "delivery_id": delivery_id, "raw": encoded}
                lines.tell("verified", {**told, "body": body})
            self.send_response(status or 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Callback)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    lines.tell("listening", server.server_port)
    server.serve_forever()


def main(document, start, mode, *arguments):
    code = sample(document, start)
    namespace = surroundings(code)
    httpx.post, httpx.get = stay_here(httpx.post), stay_here(httpx.get)
    if mode == "receive":
        *bodies, certificate, key = arguments
        if bodies:
            inside = lambda text: ["def handler(request):", *("    " + line for line in text)]
            code += "\n" + sample(document, bodies[0], inside)
        exec(compile(code, document, "exec"), namespace)
        if not bodies:
            # Only the function is given: secret, raw body, header.
            check = next(value for name, value in namespace.items() if name.startswith("verify"))
            secret = os.environ["WAKE_WEBHOOK_SECRET"]
            namespace["handler"] = lambda request: (
                None if check(secret, request.body, request.headers["X-Wake-Signature"]) else 401
            )
        return receive(namespace, certificate, key)
    exec(compile(code, document, "exec"), namespace)
    if mode == "call":
        name, argument = arguments
        for _ in range(2):
            try:
                lines.tell("returned", namespace[name](json.loads(argument)))
            except Exception as error:
                lines.tell("raised", str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
