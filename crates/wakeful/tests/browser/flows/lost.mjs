// A lost connection can be seen at once, in every tab, and so can its return.

import { ask, deliver, flow, holds, respond, row, same } from "./browser.mjs";

/** At once. */
const AT_ONCE_MS = 2_000;
const WORDS = "No connection. Trying again…";

await flow("lost", async (stage) => {
  stage.guard.expect("net::ERR_");
  const item = await deliver({ headline: "An item" });
  const held = await deliver({ headline: "Held when it was lost" });
  const list = await stage.window({ as: "ann" });
  await Promise.all([list.waitForResponse("**/api/v1/events"), list.goto("/")]);
  const beside = await list.context().newPage();
  await beside.goto(`/items/${item}`);
  const bob = await stage.window({ as: "bob" });
  await Promise.all([bob.waitForResponse("**/api/v1/events"), bob.goto(`/items/${item}`)]);
  const tabs = [[list, "the inbox"], [beside, "an item in another tab"], [bob, "an item of someone else"]];
  const line = (page) => page.locator("#connection");
  const shown = (page) => line(page).waitFor({ timeout: AT_ONCE_MS });

  for (const [page, what] of tabs) same(await line(page).isVisible(), false, `while there is a connection nothing is said, on ${what}`);

  // An answer that its author could still undo.
  const author = await list.context().newPage();
  await respond(held, "ann", { status: "approved", hold_seconds: 30 });
  await author.goto(`/items/${held}`);
  const standing = author.locator(".standing[data-until]");
  const undo = standing.getByRole("button", { name: "Undo" });
  await undo.waitFor();

  // The server goes and comes.
  await ask("stop the server");
  await standing.getByText("cannot say whether it is final").waitFor();
  const said = await standing.innerText();
  same([/final (in|now)/.test(said), await undo.isVisible()], [false, false], "without a connection a page says of no answer that it becomes final, and offers no undo");
  for (const [page, what] of tabs) {
    await shown(page);
    same(await line(page).innerText(), WORDS, `a lost connection is shown at once, on ${what}`);
    same(await line(page).getAttribute("role"), "status", `and is said aloud, on ${what}`);
  }
  await ask("start the server");
  for (const [page, what] of tabs) {
    await line(page).waitFor({ state: "hidden" });
    holds(true, `when the server is back the line goes, on ${what}`);
  }
  await author.locator(".standing").getByText("cannot say").waitFor({ state: "detached" });
  holds(true, "and the page of an answer that was held says what became of it");
  const fresh = await deliver({ headline: "After it" });
  await list.getByRole("button", { name: "1 new" }).click();
  await row(list, fresh).waitFor();
  holds(true, "and the list hears what comes");

  // The browser says itself that it is cut off.
  await list.context().setOffline(true);
  for (const [page, what] of tabs.slice(0, 2)) {
    await shown(page);
    holds(true, `a browser that is offline says so at once, on ${what}`);
  }
  await list.context().setOffline(false);
  for (const [page, what] of tabs.slice(0, 2)) {
    await line(page).waitFor({ state: "hidden" });
    holds(true, `and that it is back, on ${what}`);
  }
});
