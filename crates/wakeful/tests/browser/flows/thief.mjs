// An agent's own server, on another port of the same host or on our port while
// we are down. It keeps all that a browser sends it, and tries what can be done
// with that.

import { createHash } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { api, given, holds } from "./browser.mjs";

/** What would be on the trail if someone's session had been used for more than reading. */
const ACTS = [
  "answer_held", "answer_undone", "delivery_answered", "content_erased", "user_created", "role_set", "user_state_set", "token_issued",
  "password_set", "sign_in_link_made", "session_opened", "session_closed", "agent_added", "agent_removed", "device_token_issued",
  "device_token_exported", "key_created", "key_revoked", "webhook_secret_set", "webhook_allowed", "rate_set", "retention_set",
];
/** Pages that say the most. */
const PAGES = ["/", "/you", "/done", "/agents", "/connect", "/people", "/settings", "/trail", "/webhooks", "/sign-in"];
const READS = ["/api/v1/inbox", "/api/v1/me", "/api/v1/users", "/api/v1/trail"];
const SECRET = /[A-Za-z0-9_-]{20,}/g;
const DELIVERY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FORM = "application/x-www-form-urlencoded";

/** Every part of these texts that nobody could guess. */
export const secrets = (texts) => [...new Set(texts.join("\n").match(SECRET) ?? [])].filter((word) => !DELIVERY.test(word));

/** A request of which every header is ours to choose. */
export function send(method, address, headers = {}, body = "") {
  const { request } = address.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(address, { method, headers, rejectUnauthorized: false, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (more) => { text += more; }).on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on("error", reject).end(body);
  });
}

export class Thief {
  /** All that came in: method, path, headers, body. */
  requests = [];
  #server;
  /** What is answered: a function of a request. */
  answer = () => ({ body: "<!doctype html><title>A report</title><p>Nothing to see." });

  static async listen({ port = 0, tls = given.tls, answer } = {}) {
    const thief = new Thief();
    if (answer) thief.answer = answer;
    const take = (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (more) => { body += more; }).on("end", async () => {
        const taken = { method: request.method, path: request.url, headers: request.headers, body };
        thief.requests.push(taken);
        const { status = 200, headers = {}, body: text = "" } = await thief.answer(taken);
        response.writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store", ...headers }).end(text);
      });
    };
    thief.#server = tls ? https.createServer(tls, take) : http.createServer(take);
    await new Promise((resolve, reject) => thief.#server.once("error", reject).listen(port, "127.0.0.1", resolve));
    thief.address = `${tls ? "https" : "http"}://127.0.0.1:${thief.#server.address().port}`;
    return thief;
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** All that was received, as one text. */
  get received() {
    return this.requests.map(({ method, path, headers, body }) => `${method} ${path}\n${JSON.stringify(headers)}\n${body}`).join("\n");
  }

  get cookies() {
    return [...new Set(this.requests.map(({ headers }) => headers.cookie).filter(Boolean))];
  }
}

/** Tries all that can be done with these `Cookie` headers and words to a delivery
 * and to the house. Gives what could be read, and the keys that were found. */
export async function rob(id, cookies, words = []) {
  const to = (path) => given.address + path;
  const read = new Set();
  const values = cookies.flatMap((cookie) => cookie.split("; ").map((pair) => pair.slice(pair.indexOf("=") + 1)));
  const keys = new Set([...words, ...values, ...values.map((value) => createHash("sha256").update(value).digest("hex"))]);
  const all = [...cookies, ...values.map((value) => `${given.tls ? "__Host-" : ""}wakeful=${value}`)];
  for (const cookie of new Set(all)) {
    for (const path of [...PAGES, `/items/${id}`, "/agents/scout/prompt", ...READS]) {
      const { status, text, headers } = await send("GET", to(path), { cookie });
      if (status === 200 && path !== "/sign-in") read.add(path);
      for (const [, key] of `${headers.location ?? ""} ${text}`.matchAll(/(?:name="token" value|name="form-token" content|data-[a-z-]*(?:key|token))="([^"]+)"/g)) keys.add(key);
      for (const [, key] of `${headers.location ?? ""} ${text}`.matchAll(/\/~([^/"\s]+)/g)) keys.add(key);
    }
  }
  // With what was found, and with nothing.
  for (const cookie of new Set([...all, ""])) for (const key of new Set([...keys, ""])) {
    const own = { ...(cookie ? { cookie } : {}), origin: given.address, "sec-fetch-site": "same-origin", referer: to("/") };
    const json = { ...own, "content-type": "application/json", ...(key ? { "wakeful-form": key } : {}) };
    const form = (path, fields) => send("POST", to(path), { ...own, "content-type": FORM, ...(key ? { "wakeful-form": key } : {}) }, new URLSearchParams({ token: key, ...fields }).toString());
    for (const prefix of key && !/[^\w-]/.test(key) ? ["", `/~${key}`] : [""]) {
      await form(`${prefix}/items/${id}/answer`, { status: "approved", feedback: "Go on." });
      await form(`${prefix}/answers`, { status: "approved", id, confirmed: "yes" });
      await form(`${prefix}/you`, { new: "chosen by an agent" });
      await form(`${prefix}/people`, { name: "robot", role: "owner" });
      await form(`${prefix}/people/link`, { name: "ann" });
      await form(`${prefix}/agents/keys`, { agent: "robot", agent_id: "robot" });
    }
    await send("POST", to(`/api/v1/inbox/${id}/respond`), json, JSON.stringify({ status: "approved" }));
    await send("POST", to("/api/v1/me/token"), json, "{}");
    await send("POST", to("/api/v1/users"), json, JSON.stringify({ name: "robot", role: "owner" }));
    await send("POST", to("/api/v1/users/ann/sign-in-link"), json, "{}");
    if (key) {
      const bearer = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      await send("POST", to(`/api/v1/inbox/${id}/respond`), bearer, JSON.stringify({ status: "approved" }));
      await send("POST", to(`/sign-in/${encodeURIComponent(key)}`), { ...own, "content-type": FORM });
    }
  }
  // Once only: whoever tries passwords locks others out, which is not what is looked at here.
  for (const cookie of cookies.slice(0, 1)) {
    await send("POST", to("/sign-in"), { cookie, "content-type": FORM, origin: given.address }, new URLSearchParams({ name: "ann", password: values[0], key: values[0] }).toString());
  }
  return { read: [...read], keys: [...keys] };
}

/** What has been recorded so far. */
const trail = async () => (await api("GET", "/api/v1/trail?limit=200", given.watcher)).json().entries;
export const place = async () => (await trail())[0].position;

/** Acts that were recorded after a place, of anyone or of one person. */
export async function acts(since, actor) {
  const entries = (await trail()).filter(({ position, event_type }) => position > since && ACTS.includes(event_type));
  return entries.filter((entry) => !actor || entry.actor === actor || entry.facts.by === actor).map(({ event_type, actor }) => `${event_type} (${actor})`);
}

/** Nobody did anything after a place but look. */
export async function untouched(since, sentence) {
  const seen = await acts(since);
  holds(seen.length === 0, sentence, seen);
}
