// Every tab learns that the server is back, not only the one that listens for all.

import { ask, flow, holds } from "./browser.mjs";

/** Sooner than the server says something by itself. */
const SOON_MS = 8_000;

await flow("back", async (stage) => {
  stage.guard.expect("net::ERR_");
  const first = await stage.window({ as: "ann" });
  const tabs = [first, await first.context().newPage(), await first.context().newPage()];
  for (const tab of tabs) await tab.goto("/");
  await ask("stop the server");
  for (const tab of tabs) await tab.locator("#connection").waitFor();
  await ask("start the server");
  const began = Date.now();
  for (const tab of tabs) await tab.locator("#connection").waitFor({ state: "detached", timeout: SOON_MS });
  holds(Date.now() - began < SOON_MS, "every tab says within seconds that the connection is back");
});
