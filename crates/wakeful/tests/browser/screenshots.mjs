// Pictures of the main pages for the documents, from what the demo's agents
// deliver: node screenshots.mjs ADDRESS-OF-A-SIGN-IN-LINK DIRECTORY

import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.WAKEFUL_TEST_NODE, "package.json"));
const { chromium } = require("playwright-core");
const [link, directory] = process.argv.slice(2);
/** Small enough for a README. */
const MOST_BYTES = 150 * 1024;
/** The demo's three agents have each delivered something. */
const LEAST_ROWS = 3;

const browser = await chromium.launch({
  executablePath: execFileSync("which", ["chromium-headless-shell"], { encoding: "utf8" }).trim(),
  args: ["--no-sandbox", "--disable-gpu", "--no-proxy-server"],
});
const looks = [
  ["light", { viewport: { width: 1200, height: 760 }, colorScheme: "light" }],
  ["dark", { viewport: { width: 1200, height: 760 }, colorScheme: "dark" }],
  ["phone", { viewport: { width: 390, height: 760 }, colorScheme: "light" }],
];
const address = new URL(link).origin;
let storageState;
for (const [look, options] of looks) {
  const context = await browser.newContext({ ...options, storageState, baseURL: address });
  const page = await context.newPage();
  const take = async (name) => {
    const path = join(directory, `${name}-${look}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    console.log(`${path} ${size}`);
    if (size > MOST_BYTES) throw new Error(`${path} has ${size} bytes`);
  };
  if (!storageState) {
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    storageState = await context.storageState();
  }
  await page.goto("/");
  while ((await page.locator(".row").count()) < LEAST_ROWS) {
    // The page says by itself that more has come.
    await page.waitForFunction((rows) => document.querySelectorAll(".row").length !== rows || document.querySelector("#fresh")?.checkVisibility(), await page.locator(".row").count());
    await page.reload();
  }
  await take("list");
  const item = await page.locator("section .row a.head").first().getAttribute("href");
  await page.goto(item);
  await take("item");
  await page.goto("/connect");
  await page.getByLabel("Agent id").fill("research-01");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.locator("[data-waiting-for]").waitFor();
  await take("connect");
  for (const [name, path] of [["trail", "/trail"], ["agents", "/?group=agent"]]) {
    if (look !== "light") continue;
    await page.goto(path);
    await take(name);
  }
  await context.close();
}
await browser.close();
