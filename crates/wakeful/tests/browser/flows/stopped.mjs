// An answer whose hold ends while the server is stopped becomes final when it starts
// again: `u` says that moment, and not the end of the hold.

import { ask, deliver, eventually, final, flow, given, holds, api, row, same } from "./browser.mjs";

/** So much later than the end of the hold that no rounding hides it. */
const LATER_MS = 3_000;
const HELD_MS = 5_000;

await flow("stopped", async (stage) => {
  stage.guard.expect("net::ERR_");
  const page = await stage.window({ as: "ann" });
  const toast = page.locator("#toast");
  const said = async () => {
    await page.evaluate(() => document.querySelector("#toast")?.remove());
    await page.keyboard.press("u");
    await toast.waitFor();
    return toast.innerText();
  };
  const id = await deliver({ headline: "Held when it stopped" });
  await page.goto("/");
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await row(page, id).waitFor({ state: "detached" });
  const over = Date.now() + HELD_MS;
  await ask("stop the server");
  await eventually("the hold is over", () => Date.now() > over + LATER_MS);
  const stopped = await said();
  holds(/does not say whether it is final/.test(stopped) && !/final since/i.test(stopped), "while the server is stopped nothing is called final", stopped);

  // The page is another when the server is back, and has not heard when it became final.
  await page.goto("about:blank");
  await ask("start the server");
  same((await final(id)).status, "approved", "the answer becomes final when the server is back");
  const { responded_at } = (await api("GET", `/api/v1/inbox/${id}`, given.people.ann.token)).json();
  holds(Date.parse(responded_at) > over + LATER_MS / 2, "which is later than its hold", responded_at);
  await page.goto("/done");
  const [words, clock] = [await said(), await page.evaluate((time) => new Date(time).toLocaleTimeString([], { timeStyle: "medium" }), responded_at)];
  same(words, `Approved: Held when it stopped · Final since ${clock}.`, "and u names the second at which it did");
});
