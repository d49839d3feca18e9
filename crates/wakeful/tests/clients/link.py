"""A device and a client of the relay, from the protocol's document alone."""

import asyncio
import json
import os
import ssl
import urllib.error
import urllib.request

import websockets

from lines import tell

URL = os.environ["LINK_URL"]
REST = os.environ["LINK_REST"]
TOKEN = os.environ["LINK_TOKEN"]
AGENT = os.environ["LINK_AGENT_ID"]
TLS = ssl.create_default_context(cafile=os.environ["LINK_CA"])


def plain():
    try:
        return urllib.request.urlopen(REST + "/wss", context=TLS).status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def session():
    request = urllib.request.Request(
        REST + "/api/v1/auth/session",
        method="POST",
        headers={"Authorization": "Bearer " + TOKEN},
    )
    return json.load(urllib.request.urlopen(request, context=TLS))


def connect():
    return websockets.connect(URL, ssl=TLS, proxy=None, max_size=2**20)


async def say(socket, frame):
    await socket.send(json.dumps(frame))


async def hear(socket):
    return json.loads(await socket.recv())


async def enter(socket, **auth):
    await say(socket, {"type": "auth", **auth})
    return await hear(socket)


async def closed(socket):
    try:
        await socket.recv()
    except websockets.ConnectionClosed as end:
        return end.rcvd.code
    raise SystemExit("it was not closed")


async def main():
    tell("plain", plain())
    made = session()
    tell("session", made)
    async with connect() as client:
        token = made["session_token"]
        tell("client", await enter(client, session_token=token, client_type="client"))
        tell("snapshot", await hear(client))
        async with connect() as device:
            own = os.environ["LINK_DEVICE_TOKEN"]
            tell(
                "device",
                await enter(device, api_token=own, client_type="firmware", agent_id=AGENT),
            )
            tell("online", await hear(client))

            payload = json.dumps({"v": "1.0", "sid": "a1b2c3d4e5f6a7b8", "seq": 0, "p": "é\u2028"})
            envelope = {"type": "relay", "payload": payload, "agent_id": AGENT}
            await say(client, {**envelope, "signature": "00", "request_id": "X7K2M9P1"})
            tell("payload", {"sent": payload, "received": await device.recv()})

            reply = '{ "v":"1.0","sid":"a1b2c3d4e5f6a7b8", "seq":1,"p":"AAEC" }'
            await device.send(reply)
            tell("reply", {"sent": reply, "received": await client.recv()})
            await client.send(reply)
            tell("packet", {"sent": reply, "received": await device.recv()})

            codes = []
            await say(client, {**envelope, "agent_id": "nobody"})
            codes.append((await hear(client))["code"])
            await say(client, {"sid": "unknown"})
            codes.append((await hear(client))["code"])
            await client.send("nonsense")
            codes.append((await hear(client))["code"])
            tell("errors", codes)
        tell("offline", await hear(client))
    async with connect() as stranger:
        answer = await enter(stranger, api_token="wl_unknown", client_type="client")
        tell("refused", [answer["status"], await closed(stranger)])
    async with connect() as loud:
        await enter(loud, session_token=token, client_type="client")
        await hear(loud)
        await loud.send("x" * 70_000)
        tell("large", await closed(loud))


asyncio.run(main())
