// Connecting an agent: what the page shows is run as it is, and the page notices.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { api, flow, given, holds, PHONE, same, WIDE } from "./browser.mjs";

const run = promisify(execFile);
const file = (name, text) => {
  const path = join(given.shots, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
};

/** How each snippet is run, as its page says, after the key was exported. */
const ways = {
  curl: (text) => text,
  Python: (text) => `${given.python} ${file(`agent-${process.pid}.py`, text)}`,
  Node: (text) => `node ${file(`agent-${process.pid}.mjs`, text)}`,
};

async function begin(page, agent) {
  await page.goto("/connect");
  await page.getByLabel("Agent id").fill(agent);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("[data-waiting-for]").waitFor();
}

/** What the page shows to export, and under the name of a language. */
async function shown(page, name) {
  const exported = await page.locator("pre.copy", { hasText: "export WAKE_API_KEY" }).textContent();
  const part = page.locator("details", { has: page.locator("summary", { hasText: new RegExp(`^${name}$`) }) });
  if ((await part.getAttribute("open")) === null) await part.locator("summary").click();
  holds(await part.locator("pre.copy").isVisible(), `the lines for ${name} can be seen`);
  return `${exported}\n${ways[name](await part.locator("pre.copy").textContent())}`;
}

await flow("connect", async (stage) => {
  for (const [at, name] of Object.keys(ways).entries()) {
    const size = at % 2 ? PHONE : WIDE;
    const page = await stage.window({ as: "ann", size });
    const listening = page.waitForResponse("**/api/v1/events");
    await begin(page, `first "${name}" 'agent'`);
    await listening;
    const waiting = page.locator(".waiting");
    same(await waiting.innerText(), "Nothing has arrived yet. Has it arrived?", `the page waits for ${name}`);
    const look = () => waiting.evaluate((line) => getComputedStyle(line).backgroundColor);
    const [dark, height] = [await look(), (await waiting.boundingBox()).height];
    const lines = await shown(page, name);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator(".copied", { hasText: "export WAKE_API_KEY" }).getByRole("button").click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const taken = await page.evaluate(() => navigator.clipboard.readText());
    holds(taken.includes("export WAKE_API_KEY") && lines.startsWith(taken), `one button copies what ${name} needs`, taken);
    const program = run("sh", ["-c", lines]);
    await page.locator(".waiting.arrived").waitFor();
    same(await waiting.innerText(), "It has arrived. Open it", `what ${name} delivers is told without loading the page again`);
    holds((await look()) !== dark, `and the line lights up for ${name}`);
    holds((await waiting.boundingBox()).height <= height, `without pushing anything down for ${name}`);
    await waiting.getByRole("link", { name: "Open it" }).click();
    await page.getByRole("heading", { name: "Connected and ready to work" }).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".standing").waitFor();
    const { stdout } = await program;
    holds(name === "curl" ? JSON.parse(stdout).status === "received" : stdout.startsWith("approved"), `${name} ends well`, stdout);
  }

  // Loaded again, a page that shows a key makes no second one.
  const again = await stage.window({ as: "ann" });
  await begin(again, "twice");
  await again.reload();
  await again.locator("[data-waiting-for]").waitFor();
  const { keys } = (await api("GET", "/api/v1/keys", given.people.ann.token)).json();
  same(keys.filter(({ agent_id }) => agent_id === "twice").length, 1, "loading the page again makes no second key");
  holds(!(await again.content()).includes("wk_test_"), "and shows none");

  // Without JavaScript one asks.
  const page = await stage.window({ as: "ann", javaScriptEnabled: false });
  await begin(page, "plain");
  const ask = async () => {
    const [asked] = await Promise.all([page.waitForEvent("popup"), page.getByRole("link", { name: "Has it arrived?" }).click()]);
    await asked.locator(".waiting").waitFor();
    const said = await asked.locator(".waiting").innerText();
    await asked.close();
    return said;
  };
  same(await ask(), "Nothing has arrived yet. Has it arrived?", "without JavaScript one is told that nothing has come");
  await run("sh", ["-c", await shown(page, "curl")]);
  const said = await ask();
  holds(said.startsWith("It has arrived, ") && said.endsWith("Connected and ready to work"), "or what has", said);
  const { items } = (await api("GET", "/api/v1/inbox?agent_id=plain", given.people.ann.token)).json();
  same(items.map(({ test }) => test), [true], "what is tried out is marked as a test");
});
