// A device and a client that speak EWSP, written from docs/ewsp.md alone, with
// nothing but what Node comes with. `ewsp.mjs device` answers ping and knows no
// other command; `ewsp.mjs client` asks for what it is given, a line each.

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { createInterface } from "node:readline";

import { leave, tell } from "./lines.mjs";

const { LINK_URL, LINK_TOKEN, LINK_AGENT_ID: agentId, LINK_CODE } = process.env;
const VERSION = "1.1";
const role = process.argv[2];

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const lp = (part) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return Buffer.concat([length, Buffer.from(part)]);
};

/** The pairing code: base32 of the secret and three bytes that check it. */
function secretOf(code) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let bits = "";
  for (const letter of code.toUpperCase().replace(/[\s-]/g, "")) {
    bits += letters.indexOf(letter).toString(2).padStart(5, "0");
  }
  const bytes = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const secret = bytes.subarray(0, 32);
  const check = sha256(lp("wakelink code"), lp(agentId), lp(sha256(secret))).subarray(0, 3);
  if (!check.equals(bytes.subarray(32))) throw new Error("the code is mistyped");
  return secret;
}

const secret = secretOf(LINK_CODE);

/** What one side draws for one handshake. */
function draw() {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const pk = publicKey.export({ format: "jwk" }).x;
  return { privateKey, pk, rnd: randomBytes(32).toString("base64url") };
}

class Session {
  constructor(side, sid, own, client, device) {
    const theirs = side === "C" ? device : client;
    const publicKey = createPublicKey({
      key: { kty: "OKP", crv: "X25519", x: theirs.pk },
      format: "jwk",
    });
    const shared = diffieHellman({ privateKey: own.privateKey, publicKey });
    const raw = (text) => Buffer.from(text, "base64url");
    const input = Buffer.concat([sha256(secret), shared, raw(client.rnd), raw(device.rnd)]);
    const transcript = sha256(
      ...[VERSION, agentId, sid].map((text) => lp(Buffer.from(text))),
      ...[client.pk, client.rnd, device.pk, device.rnd].map((text) => lp(raw(text))),
    );
    const key = (speaker) => {
      const info = Buffer.concat([Buffer.from(VERSION + speaker), transcript]);
      return Buffer.from(hkdfSync("sha256", input, sid, info, 32));
    };
    this.sid = sid;
    this.speaks = { speaker: side, key: key(side) };
    const other = side === "C" ? "D" : "C";
    this.hears = { speaker: other, key: key(other) };
    this.next = 0;
  }

  #terms({ speaker, key }, seq) {
    const number = Buffer.alloc(8);
    number.writeBigUInt64BE(BigInt(seq));
    const nonce = Buffer.concat([Buffer.alloc(4), number]);
    const data = Buffer.concat([Buffer.from(VERSION + this.sid), number, Buffer.from(speaker)]);
    return { key, nonce, data };
  }

  seal(content) {
    const seq = this.next++;
    const { key, nonce, data } = this.#terms(this.speaks, seq);
    const cipher = createCipheriv("chacha20-poly1305", key, nonce, { authTagLength: 16 });
    cipher.setAAD(data);
    const sealed = [cipher.update(content), cipher.final(), cipher.getAuthTag()];
    const p = Buffer.concat(sealed).toString("base64url");
    return JSON.stringify({ v: VERSION, sid: this.sid, seq, p });
  }

  open({ seq, p }) {
    const { key, nonce, data } = this.#terms(this.hears, seq);
    const bytes = Buffer.from(p, "base64url");
    const cipher = createDecipheriv("chacha20-poly1305", key, nonce, { authTagLength: 16 });
    cipher.setAAD(data);
    cipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([cipher.update(bytes.subarray(0, -16)), cipher.final()]).toString();
  }
}

const socket = new WebSocket(LINK_URL);
const say = (frame) => socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));

const device = {
  auth: { client_type: "device", agent_id: agentId },
  sessions: new Map(),
  hear(packet) {
    if (packet.hs === 1) {
      const own = draw();
      const session = new Session("D", packet.sid, own, packet, own);
      this.sessions.set(packet.sid, session);
      say({ v: VERSION, sid: packet.sid, hs: 2, pk: own.pk, rnd: own.rnd });
      say(session.seal("confirm"));
      return;
    }
    const session = this.sessions.get(packet.sid);
    const content = session.open(packet);
    if (packet.seq === 0) return tell("confirmed", content);
    const asked = JSON.parse(content);
    tell("asked", asked);
    const answer =
      asked.do === "ping"
        ? { id: asked.id, ok: true }
        : { id: asked.id, ok: false, code: "UNKNOWN_COMMAND", error: "Only ping is known here." };
    say(session.seal(JSON.stringify(answer)));
  },
};

const client = {
  auth: { client_type: "client" },
  begin() {
    this.own = draw();
    this.sid = randomBytes(8).toString("hex");
    const { pk, rnd } = this.own;
    const payload = JSON.stringify({ v: VERSION, sid: this.sid, hs: 1, pk, rnd });
    say({ type: "relay", agent_id: agentId, payload });
  },
  hear(packet) {
    if (packet.hs === 2) {
      this.session = new Session("C", this.sid, this.own, this.own, packet);
      return;
    }
    const content = this.session.open(packet);
    if (packet.seq > 0) return tell("answered", JSON.parse(content));
    tell("confirmed", content);
    say(this.session.seal("confirm"));
    const lines = createInterface({ input: process.stdin });
    lines.on("line", (line) => say(this.session.seal(line)));
    lines.on("close", () => socket.close());
  },
};

const party = { device, client }[role];

socket.onopen = () => say({ type: "auth", api_token: LINK_TOKEN, ...party.auth });
socket.onclose = () => leave();
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  switch (frame.type) {
    case undefined:
      return party.hear(frame);
    case "ping":
      return say({ type: "pong" });
    case "auth_response":
      tell("admitted", frame.status);
      return party.begin?.();
    case "agent_status":
      return;
    default:
      throw new Error(data);
  }
};
