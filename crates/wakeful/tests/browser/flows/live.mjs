// What happens elsewhere while a page is open.

import { ask, deliver, eventually, flow, holds, PHONE, respond, row, same, WIDE } from "./browser.mjs";

const places = (page) => page.locator(".row").evaluateAll((rows) => rows.map((row) => [row.dataset.id, row.getBoundingClientRect().toJSON()]));

await flow("live", async (stage) => {
  const ids = [];
  for (let number = 1; number <= 5; number += 1) ids.push(await deliver({ headline: `Number ${number}` }));
  const pages = [await stage.window({ as: "ann", size: WIDE }), await stage.window({ as: "ann", size: PHONE })];
  for (const page of pages) {
    // What is delivered before the stream is open would be missed, and is not what is looked at here.
    await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);
  }
  const before = await Promise.all(pages.map(places));
  const fresh = await deliver({ headline: "Quite new", type: "alert" });
  for (const [at, page] of pages.entries()) {
    const width = page.viewportSize().width;
    const button = page.getByRole("button", { name: "1 new" });
    await button.waitFor();
    holds(true, `a new delivery is told as "1 new", at ${width} px`);
    same(await places(page), before[at], `and nothing has moved, at ${width} px`);
    same(await row(page, fresh).count(), 0, `nor appeared, at ${width} px`);
    await button.click();
    await row(page, fresh).waitFor();
    holds(!(await page.locator("#fresh").isVisible()), `asked for, it is shown and the word goes, at ${width} px`);
  }

  // Keys work on what has come.
  const [page, phone] = pages;
  await page.keyboard.press("j");
  same(await page.evaluate(() => document.activeElement.closest(".row")?.dataset.id), fresh, "keys reach what was shown later");

  // A narrowed list counts what it would show; ticks stay where they are.
  const narrow = await page.context().newPage();
  await narrow.goto("/?type=question");
  const question = await deliver({ headline: "A question", type: "question" });
  await deliver({ headline: "A number" });
  // Told in this order: who has heard of the last has heard of the number.
  await deliver({ headline: "Another question", type: "question" });
  await page.getByRole("button", { name: "3 new" }).waitFor();
  await narrow.getByRole("button", { name: "2 new" }).waitFor();
  same(await narrow.locator("#fresh").innerText(), "2 new", "a narrowed list counts what it would show");
  await narrow.close();
  await row(page, ids[2]).getByRole("checkbox").check();
  await page.getByRole("button", { name: "3 new" }).click();
  await row(page, question).waitFor();
  same(await page.locator(".row input:checked").evaluateAll((boxes) => boxes.map((box) => box.value)), [ids[2]], "what was ticked is still ticked");
  await row(page, ids[2]).getByRole("checkbox").uncheck();

  // Answered elsewhere.
  await phone.goto(`/items/${ids[0]}`);
  await phone.locator(".answer").waitFor();
  const unmoved = await places(page);
  await respond(ids[0], "bob", { status: "approved" });
  await phone.locator(".standing", { hasText: "approved by bob" }).waitFor();
  holds(true, "an open item shows what someone else has answered");
  await row(page, ids[0]).and(page.locator(".gone")).waitFor();
  same(await places(page), unmoved, "in the list the row is marked and stays where it is");
  holds(await row(page, ids[0]).evaluate((row) => getComputedStyle(row.querySelector(".head")).textDecorationLine === "line-through"), "and can be told from the others");

  // Many tabs.
  const tabs = [page];
  for (let number = 2; number <= 8; number += 1) {
    const tab = await page.context().newPage();
    await tab.goto("/");
    tabs.push(tab);
  }
  holds(true, "eight tabs load beside each other");
  const everywhere = await deliver({ headline: "Everywhere" });
  for (const tab of tabs) await tab.getByRole("button", { name: "1 new" }).waitFor();
  holds(true, "and each of them hears what comes");
  // The tab that listens for all is closed; another goes on from there.
  await page.goto("about:blank");
  await deliver({ headline: "After it" });
  for (const tab of tabs.slice(1)) await tab.getByRole("button", { name: "2 new" }).waitFor();
  holds(true, "when the tab that listens is closed, the others hear on");
  for (const tab of tabs.slice(1)) await tab.close();
  await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);
  await row(page, everywhere).waitFor();

  // Without TLS a browser has no locks; then each tab that is seen listens.
  const first = await stage.window({ as: "bob" });
  await first.context().addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  const seen = [first, await first.context().newPage()];
  for (const tab of seen) await Promise.all([tab.waitForResponse("**/api/v1/events"), tab.goto("/")]);
  // What came twice would be counted by the time that the next one comes.
  for (const count of [1, 2, 3]) {
    await deliver({ headline: "Without locks", type: "update" });
    for (const tab of seen) await tab.getByRole("button", { name: `${count} new` }).waitFor();
  }
  same(await Promise.all(seen.map((tab) => tab.locator("#fresh").innerText())), ["3 new updates", "3 new updates"], "without locks each tab counts what comes once");
  await first.context().close();
  await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);

  // A proxy says that the server is away for a moment.
  stage.guard.expect(502);
  const another = await stage.window({ as: "bob" });
  let refused = 0;
  await another.route("**/api/v1/events", (route) => ((refused += 1) > 2 ? route.fallback() : route.fulfill({ status: 502, body: "Bad gateway" })));
  await another.goto("/");
  await eventually("it was refused twice", () => refused > 2);
  await eventually("what comes is heard again", async () => {
    await deliver({ headline: "Behind a proxy", type: "update" });
    return another.locator("#fresh").isVisible();
  });
  holds(true, "a stream that was refused is asked for again");
  await another.close();
  stage.guard.expect(401);
  const out = await stage.window({ as: "bob" });
  await out.route("**/api/v1/events", (route) => route.fulfill({ status: 401, body: "{}" }));
  await out.goto("/");
  await out.getByText("You are signed out.").waitFor();
  holds(true, "who is signed out is told so");
  await out.close();
  const late = await stage.window({ as: "bob" });
  const reset = { contentType: "text/event-stream", body: 'id: 1@00000000\nevent: reset\ndata: {"position":1}\n\n' };
  await late.route("**/api/v1/events", (route) => route.fulfill(reset));
  await late.goto("/");
  await late.getByRole("button", { name: "Load it again" }).waitFor();
  holds(true, "who was away for too long is offered to load the page again");
  await late.close();

  // A browser without trusted types.
  const old = await stage.window({ as: "bob" });
  await old.addInitScript(() => { delete globalThis.trustedTypes; });
  await old.goto("/");
  await old.keyboard.press("j");
  same(await old.locator(".row.here").count(), 1, "keys work in a browser without trusted types");
  await old.close();
  await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);

  // A restart.
  stage.guard.expect("net::ERR_");
  await ask("stop the server");
  const lost = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/v1/events"));
  await lost.catch(() => {});
  await ask("start the server");
  const meanwhile = await deliver({ headline: "Meanwhile" });
  await page.getByRole("button", { name: "1 new" }).waitFor({ timeout: 20_000 });
  holds(true, "after a restart the page connects by itself, and tells what has come meanwhile");
  await page.getByRole("button", { name: "1 new" }).click();
  await row(page, meanwhile).waitFor();
  holds(true, "and shows it");
});
