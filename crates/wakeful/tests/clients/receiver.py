"""A callback receiver in Python: reads the raw body, checks X-Wake-Signature,
and only then looks inside.

    receiver.py CERTIFICATE KEY
"""

import base64
import hashlib
import hmac
import json
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from lines import tell

SECRET = os.environ["WAKE_WEBHOOK_SECRET"].encode("utf-8")


def is_genuine(raw, claimed):
    digest = hmac.new(SECRET, raw, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={digest}", claimed)


class Callback(BaseHTTPRequestHandler):
    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        claimed = self.headers["X-Wake-Signature"]
        if not is_genuine(raw, claimed):
            tell("refused", claimed)
            return self.finish_with(401)
        tell(
            "verified",
            {
                "signature": claimed,
                "delivery_id": self.headers["X-Wake-Delivery-Id"],
                "raw": base64.b64encode(raw).decode(),
                "body": json.loads(raw),
            },
        )
        self.finish_with(200)

    def finish_with(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    certificate, key = sys.argv[1:]
    server = HTTPServer(("127.0.0.1", 0), Callback)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    tell("listening", server.server_port)
    server.serve_forever()
