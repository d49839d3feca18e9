// Chromium for a flow, and a guard over all it does: an error in the console,
// an exception, a violation of the page's policy, a dialog or a request to
// anywhere but the server under test ends the flow.

import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";

const require = createRequire(join(process.env.WAKEFUL_TEST_NODE, "package.json"));
const { chromium } = require("playwright-core");

export const axeSource = () => require("axe-core").source;
export const given = JSON.parse(process.env.WAKEFUL_FLOW);
export const WIDE = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
const PATIENCE_MS = 20_000;
/** No flow takes longer than this, unless it says so. */
const WHOLE_MS = 300_000;

/** A sentence that is proven from here on. */
export function holds(condition, sentence, ...seen) {
  if (!condition) throw new Error(`it does not hold that ${sentence}${seen.length ? `\n  seen: ${JSON.stringify(seen)}` : ""}`);
  console.log(`holds: ${sentence}`);
}

export const same = (seen, expected, sentence) =>
  holds(JSON.stringify(seen) === JSON.stringify(expected), sentence, seen, expected);

/** Waits until something is so that no event of the page tells, looking often: in
 * Firefox, in several pages, or on the server. */
export async function eventually(what, look, patience = PATIENCE_MS) {
  const deadline = Date.now() + patience;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > deadline) throw new Error(`it never came true that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

// --- the test on the other side ----------------------------------------------

const replies = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Has the test do something that only it can do. */
export async function ask(what) {
  console.log(`ask ${what}`);
  const { value, done } = await replies.next();
  if (done) throw new Error(`the test did not ${what}`);
  return JSON.parse(value);
}

// --- the API -------------------------------------------------------------------

export async function api(method, path, token, body) {
  const response = await fetch(given.address + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}

export const key = (agent = "scout") => given.keys[agent];

/** Delivers as an agent; gives the id. */
export async function deliver(more = {}, agent = "scout", by = key(agent)) {
  const body = { agent_id: agent, provider: "claude", type: "output", headline: "Report ready", summary: "All ten were compared.", ...more };
  const answer = await api("POST", "/wake/v1/deliver", by, body);
  if (answer.status !== 201) throw new Error(`delivery refused: ${answer.text}`);
  return answer.json().delivery_id;
}

/** What the agent is told now. */
export const response = async (id, agent = "scout") => (await api("GET", `/wake/v1/response/${id}`, key(agent))).json();

/** What the agent is told once it is told something. */
export async function final(id, agent = "scout") {
  const told = (await api("GET", `/wake/v1/response/${id}?wait=${PATIENCE_MS / 1000}`, key(agent))).json();
  if (told.status === "pending") throw new Error(`${id} has no answer`);
  return told;
}

export async function respond(id, person, body) {
  const answer = await api("POST", `/api/v1/inbox/${id}/respond`, given.people[person].token, body);
  if (answer.status !== 200) throw new Error(`answer refused: ${answer.text}`);
}

// --- the browser ----------------------------------------------------------------

class Guard {
  problems = [];
  #expected = [];

  /** What the console may say: a status as a number, or part of the text. */
  expect(...what) {
    this.#expected.push(...what.map((one) => (typeof one === "number" ? `status of ${one}` : one)));
  }

  watch(context) {
    const origin = new URL(given.address).origin;
    context.on("console", (message) => {
      const text = message.text();
      if (message.type() !== "error" && !text.includes("Content Security Policy")) return;
      if (!this.#expected.some((part) => text.includes(part))) this.problems.push(`console: ${text}`);
    });
    context.on("weberror", (error) => this.problems.push(`exception: ${error.error()}`));
    context.on("request", (request) => {
      const url = request.url();
      if (url !== "about:blank" && new URL(url).origin !== origin) this.problems.push(`request: ${url}`);
    });
    context.on("dialog", async (dialog) => {
      this.problems.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
  }

  check() {
    if (this.problems.length) throw new Error(`in the browser: ${this.problems.slice(0, 5).join("\n  ")}`);
  }
}

class Stage {
  guard = new Guard();
  #browser;

  constructor(browser) {
    this.#browser = browser;
  }

  /** A browser window of its own; signed in if it is someone's. */
  async window({ as, size = WIDE, ...more } = {}) {
    const context = await this.#browser.newContext({
      viewport: size, baseURL: given.address, reducedMotion: "reduce", ...more,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    this.guard.watch(context);
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    if (as) {
      // The cookie reads; the page key acts: in the storage where there are
      // scripts, else as a header with every request.
      const { cookie, key } = given.people[as];
      await context.addCookies([{ ...cookie, url: given.address }]);
      if (more.javaScriptEnabled === false) await context.setExtraHTTPHeaders({ "wakeful-form": key });
      else await context.addInitScript((key) => { if (location.protocol !== "about:" && !localStorage.getItem("page-key")) localStorage.setItem("page-key", key); }, key);
    }
    return context.newPage();
  }

  get pages() {
    return this.#browser.contexts().flatMap((context) => context.pages());
  }
}

export const launchChromium = () => chromium.launch({
  executablePath: execFileSync("which", ["chromium-headless-shell"], { encoding: "utf8" }).trim(),
  args: ["--no-sandbox", "--disable-gpu", "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
});

/** Ends the program if a flow takes too long; gives what calls this off. */
export function watchTime(name, whole = WHOLE_MS) {
  const late = setTimeout(() => {
    console.error(`${name}: took longer than ${whole / 1000} s`);
    process.exit(1);
  }, whole);
  return () => clearTimeout(late);
}

export async function flow(name, play, whole) {
  const inTime = watchTime(name, whole);
  const browser = await launchChromium();
  const stage = new Stage(browser);
  let failed = false;
  try {
    await play(stage);
    stage.guard.check();
    holds(true, "the console, the policy and the network stayed quiet");
  } catch (error) {
    failed = true;
    console.error(`${name}: ${error.stack ?? error}`);
    if (stage.guard.problems.length) console.error(`in the browser:\n  ${stage.guard.problems.join("\n  ")}`);
    let number = 0;
    for (const page of stage.pages) {
      const path = join(given.shots, `${name}-${(number += 1)}.png`);
      const shot = await page.screenshot({ path }).then(() => path, (why) => `no screenshot: ${why.message}`);
      console.error(`${page.url()}\n  ${shot}`);
    }
  }
  await browser.close();
  inTime();
  process.exit(failed ? 1 : 0);
}

// --- what people look at ----------------------------------------------------------

export const row = (page, id) => page.locator(`.row[data-id="${id}"]`);
export const heads = async (page) => {
  const heads = await page.locator(".row:visible .head").allInnerTexts();
  return heads.map((head) => head.replace(/^New:\s*/, ""));
};

/** Waits until the open item says by itself that its answer is final. */
export const settled = (page) => page.locator(".standing:not([data-until])").waitFor();

/** Nothing is wider than the window. */
export async function fits(page, sentence) {
  const [needed, there] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  holds(needed <= there, sentence, needed, there);
}
