// Runs sample code as it stands in a document.
//
//     from_document.mjs DOCUMENT START run
//     from_document.mjs DOCUMENT START receive CERTIFICATE KEY
//
// The code begins at the first line that starts with START, and is as long as
// it is JavaScript. Of Express it gets what it uses.

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createRequire } from "node:module";

import { leave, tell } from "./lines.mjs";

const [document, start, mode, ...files] = process.argv.slice(2);
const Async = Object.getPrototypeOf(async () => {}).constructor;

function sample() {
  const text = readFileSync(document, "utf8").split("\n");
  const first = text.findIndex((line) => line.startsWith(start));
  let best = null;
  for (let end = first + 1; end < Math.min(first + 100, text.length); end += 1) {
    const code = text.slice(first, end).join("\n");
    try {
      new Async(code);
      best = code;
    } catch {
      // Not whole yet, or no longer code.
    }
  }
  return best;
}

// Requests to a host that is written into the code go to the server under test.
async function fetchHere(url, more) {
  const here = new URL(new URL(url).pathname, process.env.WAKE_ENDPOINT);
  const answer = await fetch(here, more);
  tell("status", [more.method, answer.status]);
  return answer;
}

let handler = null;
const app = { post: (path, raw, given) => (handler = given) };
const express = { raw: () => null };
const payload = {
  agent_id: process.env.WAKE_AGENT_ID,
  provider: "claude",
  type: "update",
  headline: "Half done",
  summary: "Five of ten are read.",
};
const surroundings = { require: createRequire(import.meta.url), fetch: fetchHere, app, express, payload };
await new Async(...Object.keys(surroundings), sample())(...Object.values(surroundings));

if (mode === "receive") {
  const [cert, key] = files.map((file) => readFileSync(file));
  const server = createServer({ cert, key }, (request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      const raw = (request.body = Buffer.concat(pieces));
      let status = 200;
      const res = { status: (code) => ((status = code), res), send: () => res };
      handler(request, res);
      const signature = request.headers["x-wake-signature"];
      const delivery_id = request.headers["x-wake-delivery-id"];
      if (status === 401) tell("refused", signature);
      else tell("verified", { signature, delivery_id, raw: raw.toString("base64"), body: JSON.parse(raw) });
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1", () => tell("listening", server.address().port));
} else {
  leave();
}
