"""Delivers to a person through WAKE and waits for the answer. Needs httpx.

WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID come from the environment. So may
WAKE_POLL_SECONDS, how often an answer is asked for (60), and WAKE_LOG, the file
in which deliveries and answers are logged (wake.log).
"""

import json
import os
import time
import uuid

import httpx

PROVIDER = "@provider@"
BASE = os.environ["WAKE_ENDPOINT"].rstrip("/").removesuffix("/wake/v1") + "/wake/v1"
POLL_SECONDS = max(1.0, float(os.environ.get("WAKE_POLL_SECONDS", "60")))
LOG = os.environ.get("WAKE_LOG") or "wake.log"

_url = httpx.URL(BASE)
if _url.scheme != "https" and _url.host not in ("localhost", "127.0.0.1", "::1"):
    raise ValueError("WAKE_ENDPOINT must begin with https://")

# When waiting ends, for each delivery that this process has made.
_deadlines: dict[str, float] = {}


class WakeError(RuntimeError):
    """The server refused, or said what it may not say. Never an answer."""


def deliver(
    type: str,
    headline: str,
    summary: str,
    details: str = "",
    timeout_seconds: int = 3600,
) -> str:
    """Delivers something to the person you work for and returns its delivery_id.

    Args:
        type: update (progress), question (you need a decision), output (finished
            work, for review) or alert (something a person should know about).
        headline: What was accomplished, in at most 120 characters.
        summary: One plain sentence of at most 280 characters.
        details: All that the person needs to judge it, as Markdown.
        timeout_seconds: How long you wait for an answer, from 60 to 604800.
    """
    delivery = {
        "agent_id": os.environ["WAKE_AGENT_ID"],
        "provider": PROVIDER,
        "type": type,
        "headline": headline,
        "summary": summary,
        "details": details or None,
        "timeout_seconds": timeout_seconds,
    }
    _log({"delivering": delivery})
    once = {"Idempotency-Key": str(uuid.uuid4())}
    received = _call("POST", "/deliver", headers=once, json=delivery)
    delivery_id = received["delivery_id"]
    _deadlines[delivery_id] = time.monotonic() + timeout_seconds
    _log({"delivered": received, "delivery": delivery})
    return delivery_id


def wait_for_answer(delivery_id: str) -> str:
    """Waits for the person's answer to a delivery and returns it as JSON.

    Its status is approved, rejected or redirected; feedback and edited_content
    say more. The status timeout means that nobody has decided anything.

    Args:
        delivery_id: What deliver returned.
    """
    if delivery_id not in _deadlines:
        raise WakeError(f"{delivery_id!r} was not delivered by this process")
    while True:
        answer = _call("GET", f"/response/{delivery_id}")
        if answer["delivery_id"] != delivery_id:
            raise WakeError(f"the answer is not the one to {delivery_id}")
        if answer["status"] in ("approved", "rejected", "redirected"):
            _log({"answered": answer})
            return json.dumps(answer, ensure_ascii=False)
        if answer["status"] != "pending":
            raise WakeError(f"{answer['status']!r} is not a status of WAKE")
        left = _deadlines[delivery_id] - time.monotonic()
        if left <= 0:
            _log({"timed_out": delivery_id})
            nothing = "Nothing was decided. This is not an approval."
            return json.dumps({"delivery_id": delivery_id, "status": "timeout", "note": nothing})
        time.sleep(min(POLL_SECONDS, left))


def _call(method, path, headers=None, **more):
    bearer = {"Authorization": "Bearer " + os.environ["WAKE_API_KEY"]}
    answer = httpx.request(
        method, BASE + path, headers={**bearer, **(headers or {})}, timeout=30, **more
    )
    if not answer.is_success:
        pause = answer.headers.get("Retry-After")
        pause = f" Retry-After: {pause} seconds." if pause else ""
        raise WakeError(
            f"No answer: {method} {path} failed with status {answer.status_code}."
            f"{pause} {answer.text}"
        )
    return answer.json()


def _log(line):
    owner_only = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(owner_only, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
