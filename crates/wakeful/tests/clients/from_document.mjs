// Runs sample code as it stands in a document.
//
//     from_document.mjs DOCUMENT START run
//     from_document.mjs DOCUMENT START receive CERTIFICATE KEY
//
// The code begins at the first line that starts with START, and is as long as
// it is JavaScript. First it is told what the code gets from here: the names that
// it uses and does not define, and what stands in for the world.

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createRequire } from "node:module";

import { leave, tell } from "./lines.mjs";

const [document, start, mode, ...files] = process.argv.slice(2);
const Async = Object.getPrototypeOf(async () => {}).constructor;

function sample() {
  const text = readFileSync(document, "utf8").split("\n");
  const first = text.findIndex((line) => line.startsWith(start));
  if (first < 0) throw new Error(`${document} has no line that starts with ${start}`);
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

const payload = {
  agent_id: process.env.WAKE_AGENT_ID,
  provider: "claude",
  type: "update",
  headline: "Half done",
  summary: "Five of ten are read.",
};
const surroundings = { require: createRequire(import.meta.url), fetch: fetchHere, payload };
if (mode === "receive") Object.assign(surroundings, application());
const code = sample();
tell("supplied", supplies(code));
await new Async(...Object.keys(surroundings), code)(...Object.values(surroundings));

function supplies(code) {
  const variables = [...code.matchAll(/process\.env\.(\w+)/g)].map(([, name]) => `$${name}`);
  const names = ["app", "express", "payload"].filter((name) => new RegExp(`\\b${name}\\b(?!:)`).test(code));
  const host = code.includes('fetch("https://') ? ["the host in the address"] : [];
  const server = mode === "receive" ? ["an HTTPS server that calls the receiver", "the end of its answer"] : [];
  return [...variables, ...host, ...server, ...names];
}

// An Express application. Whatever its handler leaves unanswered is answered here:
// in the document that is left out.
function application() {
  const express = createRequire(`${process.env.WAKEFUL_TEST_EXPRESS}/package.json`)("express");
  const app = express();
  const post = app.post.bind(app);
  app.post = (path, raw, handler) =>
    post(path, raw, (request, response) => {
      handler(request, response);
      const signature = request.headers["x-wake-signature"];
      if (response.headersSent) return tell("refused", signature);
      const delivery_id = request.headers["x-wake-delivery-id"];
      const bytes = request.body.toString("base64");
      tell("verified", { signature, delivery_id, raw: bytes, body: JSON.parse(request.body) });
      response.sendStatus(200);
    });
  return { app, express };
}

if (mode === "receive") {
  const [cert, key] = files.map((file) => readFileSync(file));
  const server = createServer({ cert, key }, surroundings.app);
  server.listen(0, "127.0.0.1", () => tell("listening", server.address().port));
} else {
  leave();
}
