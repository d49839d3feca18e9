// The keyboard alone.

import { deliver, final, flow, heads, holds, response, row, same } from "./browser.mjs";

/** Where the focus is can be seen. */
async function focusShows(page, where) {
  const seen = await page.evaluate(() => {
    const at = document.activeElement;
    const box = at.getBoundingClientRect();
    const style = getComputedStyle(at);
    return {
      at: at.outerHTML.slice(0, 120),
      ring: at !== document.body && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
      inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    };
  });
  holds(seen.ring && seen.inside, `the focus can be seen ${where}`, seen);
}

await flow("keys", async (stage) => {
  const page = await stage.window({ as: "ann" });
  const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  const current = () => page.evaluate(() => document.activeElement.closest(".row")?.dataset.id);

  const ids = [];
  for (let number = 1; number <= 24; number += 1) ids.push(await deliver({ headline: `Number ${number}`, details: `Text ${number}` }));
  const newest = [...ids].reverse();
  await page.goto("/");

  // Moving.
  await press("j");
  same(await current(), newest[0], "j goes to the first");
  await focusShows(page, "on a row");
  await press("j", "j");
  same(await current(), newest[2], "and on");
  await press("k");
  same(await current(), newest[1], "k goes back");
  await press("x");
  same(await page.locator(".row input:checked").evaluateAll((boxes) => boxes.map((box) => box.value)), [newest[1]], "x ticks");
  await press("x");
  same(await page.locator(".row input:checked").count(), 0, "and unticks");

  // Help.
  await press("?");
  const help = page.getByRole("dialog");
  await help.waitFor();
  await focusShows(page, "in the help");
  const usual = page.viewportSize();
  await page.setViewportSize({ width: 1200, height: 800 });
  holds(await help.evaluate((box) => box.scrollHeight <= box.clientHeight), "the help needs no scrolling in a window of 1200 by 800");
  const tops = await page.locator("form.controls[role=search]").evaluate((form) => [form.querySelector("#q"), form.querySelector("button")].map((one) => Math.round(one.getBoundingClientRect().top)));
  same(tops[0], tops[1], "there the filters are on one line");
  await page.setViewportSize(usual);
  await press("a");
  same((await heads(page)).length, 24, "behind the help no key answers");
  await press("Escape");
  await help.waitFor({ state: "hidden" });
  holds(true, "? opens the help and Escape closes it");
  same(await current(), newest[1], "one is where one was");

  // Search.
  await press("/");
  same(await page.evaluate(() => document.activeElement.id), "q", "/ goes to the search");
  await focusShows(page, "in the search");
  await page.keyboard.type("jar");
  same(await page.locator("#q").inputValue(), "jar", "letters are letters there");
  await press("Escape");
  same(await page.evaluate(() => document.activeElement.id), "", "Escape leaves it");

  // Places.
  await press("g", "d");
  await page.waitForURL("**/done");
  await press("g", "y");
  await page.waitForURL("**/you");
  await press("g", "i");
  await page.waitForURL((url) => url.pathname === "/");
  holds(true, "g and a letter lead to each place");

  // Undo.
  await press("j", "a");
  await row(page, newest[0]).waitFor({ state: "detached" });
  await focusShows(page, "after an answer");
  same(await current(), newest[1], "after an answer the next one is at hand");
  await press("u");
  await row(page, newest[0]).waitFor({ state: "attached" });
  same((await response(newest[0])).status, "pending", "u takes the answer back");
  same(await current(), newest[0], "and the row is where it was");

  // A key that is held down answers one.
  let sent = 0;
  page.on("request", (request) => { sent += request.url().endsWith("/respond") ? 1 : 0; });
  for (let times = 0; times < 8; times += 1) await page.keyboard.down("a");
  await page.keyboard.up("a");
  await row(page, newest[0]).waitFor({ state: "detached" });
  await press("u");
  await row(page, newest[0]).waitFor();
  // By now whatever the key had sent before this one has come to something.
  same([sent, (await heads(page)).length], [1, 24], "a key that is held down answers one");

  // Undo the last, then the one before, on another page.
  const toast = page.locator("#toast");
  await press("a");
  await row(page, newest[0]).waitFor({ state: "detached" });
  await press("r");
  await row(page, newest[1]).waitFor({ state: "detached" });
  await page.goto("/done");
  same(await toast.innerText(), "Rejected: Number 23\nUndo (u)", "what was answered last is named on every page");
  await press("u");
  await toast.getByText("Approved: Number 24").waitFor();
  await press("u");
  await toast.getByText("Taken back", { exact: true }).waitFor();
  await page.goto("/");
  same([await row(page, newest[0]).count(), await row(page, newest[1]).count()], [1, 1], "and is undone there, one after the other");
  same([(await response(newest[0])).status, (await response(newest[1])).status], ["pending", "pending"], "both wait again");

  // With some ticked, a verdict is about those, after a review.
  await press("j", "x", "j", "j", "x", "a");
  await page.getByRole("heading", { name: /^Approve th/ }).waitFor();
  same(await heads(page), ["Number 24", "Number 22"], "with some ticked, a leads to the review of those");
  await page.getByRole("link", { name: "Back" }).click();
  await page.waitForURL((url) => url.pathname === "/");
  const ticks = () => page.locator(".row input:checked").evaluateAll((boxes) => boxes.map((box) => box.value));
  same(await ticks(), [newest[0], newest[2]], "and they are still ticked when one comes back");
  await press("j", "x", "j", "j", "x");
  same(await ticks(), [], "until they are unticked");
  await press("k", "k");

  // Without a connection.
  stage.guard.expect("ERR_INTERNET_DISCONNECTED");
  await page.context().setOffline(true);
  await press("a");
  await toast.getByText("Not sent: no connection.").waitFor();
  await page.context().setOffline(false);
  same(await row(page, newest[0]).count(), 1, "without a connection one is told that nothing was sent");

  // Signed out.
  const cookies = await page.context().cookies();
  stage.guard.expect(401);
  await page.context().clearCookies();
  await press("a");
  await toast.getByText("Not sent: you are signed out.").waitFor();
  await page.context().addCookies(cookies);
  await page.goto("/");
  await press("j");
  same((await heads(page)).length, 24, "and so is who is signed out");

  // Open, look at the raw form, put aside.
  await press("Enter");
  await page.waitForURL(`**/items/${newest[0]}`);
  holds(true, "Enter opens");
  await press("v");
  await page.waitForURL("**/raw");
  await press("v");
  await page.waitForURL(`**/items/${newest[0]}`);
  holds(true, "v shows it as it was sent, and leads back");
  await press("f");
  same(await page.evaluate(() => document.activeElement.id), "feedback", "f goes to the feedback");
  await press("Escape", "j");
  await page.waitForURL(`**/items/${newest[1]}`);
  await press("j");
  await page.waitForURL(`**/items/${newest[2]}`);
  await press("k");
  await page.waitForURL(`**/items/${newest[1]}`);
  await press("k");
  await page.waitForURL(`**/items/${newest[0]}`);
  holds(true, "j and k go from item to item in the order of the list");
  await press("k");
  await toast.getByText("That was the first.").waitFor();
  await press("/");
  await page.waitForURL((url) => url.pathname === "/");
  await page.locator("#q:focus").waitFor();
  holds(true, "/ leads from an item to the search");
  await page.goto(`/items/${newest[0]}`);
  await press("s");
  await page.waitForURL(`**/items/${newest[1]}`);
  await toast.getByText("Put aside for an hour: Number").waitFor();
  await page.goto("/");
  same(await row(page, newest[0]).count(), 0, "s puts aside from the item, and leads to the next");
  await press("j", "s");
  await row(page, newest[1]).waitFor({ state: "detached" });
  same(await current(), newest[2], "s puts aside from the list");

  // Change one.
  await press("e");
  await page.waitForURL(`**/items/${newest[2]}#change`);
  same(await page.evaluate(() => document.activeElement.id), "edited", "e opens the editor");
  await focusShows(page, "in the editor");
  await press("Control+End");
  await page.keyboard.type(", by hand");
  await press("Tab", "Tab", "Tab");
  await focusShows(page, "on a verdict");
  await press("Enter");
  await page.locator(".standing").waitFor();
  await page.waitForLoadState();
  await press("u");
  await page.locator("#edited").waitFor({ state: "attached" });
  await page.waitForLoadState();
  same((await response(newest[2])).status, "pending", "u takes back on the item too");
  same(await page.locator("#edited").inputValue(), "Text 22, by hand", "and the change is still there");
  await press("e");
  await press("Control+Enter");
  await page.waitForURL(`**/items/${newest[3]}`);
  await toast.getByText("Redirected: Number 22").waitFor();
  holds(true, "Ctrl and Enter redirect, and lead to the next");
  const changed = await final(newest[2]);
  same([changed.status, changed.edited_content], ["redirected", "Text 22, by hand"], "a change by keys arrives");

  // Answer one on its page.
  await page.goto(`/items/${newest[3]}`);
  await page.getByLabel("Feedback").fill("Not this one");
  await press("Escape", "r");
  await page.waitForURL(`**/items/${newest[4]}`);
  await toast.getByText("Rejected: Number 21").waitFor();
  await press("u");
  await page.waitForURL(`**/items/${newest[3]}`);
  same((await response(newest[3])).status, "pending", "u on the next leads back to what it undoes");
  await toast.getByText("Taken back").waitFor();
  holds(true, "and what came of it is said there");
  await page.getByLabel("Feedback").fill("Not this one");
  await press("Escape", "r");
  await page.waitForURL(`**/items/${newest[4]}`);
  const rejected = await final(newest[3]);
  same([rejected.status, rejected.feedback], ["rejected", "Not this one"], "r rejects on the item, with the feedback");
  same((await final(newest[3])).status, "rejected", "r rejects on the item");

  // Twenty.
  await press("g", "i");
  await page.waitForURL((url) => url.pathname === "/");
  const left = newest.slice(4);
  same((await heads(page)).length, 20, "twenty are left");
  await press("j");
  for (const [at, id] of left.entries()) {
    same(await current(), id, `number ${at + 1} is at hand`);
    await press(at % 2 ? "r" : "a");
    await row(page, id).waitFor({ state: "detached" });
    if (at < 19) await focusShows(page, `after answer ${at + 1}`);
  }
  same(await page.locator(".calm").innerText(), "Nothing needs you.", "then nothing needs one");
  same(await page.locator("#list h2:visible").count(), 0, "and no heading stands over nothing");
  const verdicts = await Promise.all(left.map(async (id) => (await final(id)).status));
  same(verdicts, left.map((_, at) => (at % 2 ? "rejected" : "approved")), "twenty were answered with two keys each");
});
