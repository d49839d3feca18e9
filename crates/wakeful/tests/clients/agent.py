"""An agent in Python that makes the calls the protocol's documents make.

    agent.py spec DELIVERY      deliver, then poll; the base ends in /wake/v1
    agent.py paper DELIVERY     the same; the base is the bare host
    agent.py retry DELIVERY     deliver twice, waiting out 429 three times at the most
    agent.py poll ID            ask once for an answer
    agent.py sweep ROUNDS       ask for all answers at once, so many times
"""

import json
import os
import sys

import httpx

from lines import rest, tell

BASE = os.environ["WAKE_ENDPOINT"]
AGENT = os.environ["WAKE_AGENT_ID"]
BEARER = {"Authorization": "Bearer " + os.environ["WAKE_API_KEY"]}
# Sent with reads too, although they have no body.
BEARER_AND_TYPE = {**BEARER, "Content-Type": "application/json"}


def body_of(delivery):
    fields = ("type", "headline", "summary", "details", "timeout_seconds")
    return {"agent_id": AGENT, "provider": "claude", **{f: delivery.get(f) for f in fields}}


def deliver_and_poll(root, headers, delivery):
    posted = httpx.post(f"{root}/deliver", headers=headers, json=body_of(delivery))
    posted.raise_for_status()
    delivery_id = posted.json()["delivery_id"]
    tell("delivered", delivery_id)
    while True:
        answer = httpx.get(f"{root}/response/{delivery_id}", headers=headers).json()
        if answer["status"] != "pending":
            assert answer["delivery_id"] == delivery_id
            return tell("answer", answer)
        rest(60)


def deliver_patiently(delivery, tries=3):
    for _ in range(tries):
        posted = httpx.post(BASE + "/deliver", headers=BEARER_AND_TYPE, json=body_of(delivery))
        if posted.status_code != 429:
            posted.raise_for_status()
            return tell("delivered", posted.json()["delivery_id"])
        rest(int(posted.headers.get("Retry-After", 60)))
    tell("alert", "still limited")


def poll(delivery_id):
    asked = httpx.get(f"{BASE}/response/{delivery_id}", headers=BEARER)
    tell("status", asked.status_code)
    try:
        answer = asked.json()
        tell("answer", {"status": answer["status"]})
    except Exception as error:
        tell("raised", type(error).__name__)


def sweep(rounds):
    seen_until = None
    for _ in range(rounds):
        query = {"agent_id": AGENT, "status": "approved,rejected,redirected"}
        if seen_until:
            query["since"] = seen_until
        page = httpx.get(f"{BASE}/responses", headers=BEARER_AND_TYPE, params=query).json()
        tell("swept", page["deliveries"])
        if page["deliveries"]:
            seen_until = page["next_since"]
        rest(60)


if __name__ == "__main__":
    mode, argument = sys.argv[1:]
    argument = json.loads(argument)
    if mode == "spec":
        deliver_and_poll(BASE, BEARER_AND_TYPE, argument)
    elif mode == "paper":
        deliver_and_poll(f"{BASE}/wake/v1", BEARER, argument)
    elif mode == "retry":
        deliver_patiently(argument)
        deliver_patiently(argument)
    elif mode == "poll":
        poll(argument)
    elif mode == "sweep":
        sweep(argument)
    else:
        sys.exit(__doc__)
