"""Runs sample code as it stands in a document.

    from_document.py DOCUMENT START MODE …

The code begins at the first line that starts with START, and is as long as it
is Python. First it is told what the code gets from here: the names that it uses
and does not define, and what stands in for the world.

    run                         as a program; what it raises is told
    call NAME ARGUMENTS         what comes before its first use of its functions,
                                then this function, once for each list of arguments
    receive [START] CERTIFICATE KEY
                                as the functions of a callback receiver; at START
                                stand the lines that belong inside its handler
"""

import ast
import base64
import builtins
import json
import os
import re
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
    first = next((n for n, line in enumerate(text) if line.startswith(start)), None)
    if first is None:
        sys.exit(f"{document} has no line that starts with {start!r}")
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


def definitions(code):
    """The code up to the end of its last function."""
    body = ast.parse(code).body
    end = max(node.end_lineno for node in body if isinstance(node, ast.FunctionDef))
    return "\n".join(code.split("\n")[:end])


def without_definition(code):
    tree = ast.parse(code)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            known |= {node.name, *(each.arg for each in node.args.args)}
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name for alias in node.names}
    return {name.id for name in names} - known - set(dir(builtins))


class Running:
    """True until the test ends a rest with another word than "go"."""

    going = True

    def __bool__(self):
        return self.going


def told(name):
    return lambda *arguments: lines.tell("called", [name, *arguments])


def rest_as_told(running):
    really_sleep = time.sleep

    def rest(seconds):
        lines.tell("resting", seconds)
        if seconds <= 5:
            return really_sleep(seconds)
        word = lines.hear()
        if not word:
            sys.exit("the test is gone")
        running.going = word == "go"

    time.sleep = rest


def surroundings(code, running):
    """What the code uses and does not define, and how each is told."""
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
    used = sorted(without_definition(code))
    supplied = [name if name in known else f"{name}()" for name in used]
    return {name: known.get(name, told(name)) for name in used}, supplied


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


def call(namespace, name, arguments):
    for each in json.loads(arguments):
        try:
            lines.tell("returned", namespace[name](*each))
        except Exception as error:
            lines.tell("raised", type(error).__name__)


def main(document, start, mode, *arguments):
    code = sample(document, start)
    supplied = []
    if mode == "call":
        code = definitions(code)
        supplied.append(f"the arguments of {arguments[0]}()")
    if mode == "receive":
        *bodies, certificate, key = arguments
        supplied.append("an HTTPS server that calls the receiver")
        if bodies:
            inside = lambda text: ["def handler(request):", *("    " + line for line in text)]
            code += "\n" + sample(document, bodies[0], inside)
            supplied.append("the handler's `def` line and its request")
        else:
            code = definitions(code)
            supplied.append("a handler that calls the function with what it asks for")
    running = Running()
    namespace, names = surroundings(code, running)
    supplied += [f"${name}" for name in re.findall(r'environ\S*?"(\w+)"', code)]
    if re.search(r'httpx\.\w+\("https://', code):
        supplied.append("the host in the address")
    if "time.sleep" in code:
        supplied.append("the time that time.sleep takes")
    lines.tell("supplied", [*supplied, *names])
    rest_as_told(running)
    httpx.post, httpx.get = stay_here(httpx.post), stay_here(httpx.get)
    try:
        exec(compile(code, document, "exec"), namespace)
    except Exception as error:
        return lines.tell("raised", type(error).__name__)
    if mode == "call":
        call(namespace, *arguments)
    if mode == "receive":
        if not bodies:
            namespace["handler"] = handler_of(namespace)
        receive(namespace, certificate, key)


def handler_of(namespace):
    """A handler around the one function that verifies: with the secret first, if it asks for it."""
    check = next(value for name, value in namespace.items() if name.startswith("verify"))
    secret = [os.environ["WAKE_WEBHOOK_SECRET"]] if check.__code__.co_argcount == 3 else []

    def handler(request):
        genuine = check(*secret, request.body, request.headers["X-Wake-Signature"])
        return None if genuine else 401

    return handler


if __name__ == "__main__":
    main(*sys.argv[1:])
