// The tab's title counts what waits for an answer.

import { deliver, eventually, final, flow, holds, respond, row, same } from "./browser.mjs";

/** Soon: a glance at the tabs is enough. */
const SOON_MS = 3_000;

await flow("title", async (stage) => {
  const page = await stage.window({ as: "ann" });
  const says = async (expected, when) => {
    let seen;
    await eventually(`the title is "${expected}" ${when}`, async () => (seen = await page.title()) === expected, SOON_MS).catch((error) => {
      throw new Error(`${error.message}; it is "${seen}"`);
    });
    holds(true, `the title is "${expected}" ${when}`);
  };
  await page.goto("/");
  await says("Inbox · Wakeful", "of an empty inbox");

  const output = await deliver({ headline: "Some work" });
  const question = await deliver({ type: "question", headline: "A question" });
  await deliver({ type: "update", headline: "Only an update" });
  await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);
  await says("(2) Inbox · Wakeful", "with two that wait and an update that does not");
  const plain = await stage.window({ as: "ann", javaScriptEnabled: false });
  await plain.goto("/");
  same(await plain.title(), "(2) Inbox · Wakeful", "the server counts, so the title is right without JavaScript too");
  await plain.context().close();

  // What has come and is not in the list yet.
  const alert = await deliver({ type: "alert", headline: "An alert" });
  await page.getByRole("button", { name: "1 new" }).waitFor();
  same(await row(page, alert).count(), 0, "what is new waits behind a word");
  await says("(3) Inbox · Wakeful", "when another has come, in the list or not");
  await page.getByRole("button", { name: "1 new" }).click();
  await row(page, alert).waitFor();
  await says("(3) Inbox · Wakeful", "when it is in the list");

  // What is answered here, undone, put aside, and answered elsewhere.
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await says("(2) Inbox · Wakeful", "when one is answered");
  await page.keyboard.press("u");
  await row(page, alert).waitFor();
  await says("(3) Inbox · Wakeful", "when the answer is undone");
  await page.keyboard.press("s");
  await row(page, alert).waitFor({ state: "detached" });
  await says("(2) Inbox · Wakeful", "when one is put aside");
  await respond(question, "bob", { status: "approved" });
  await says("(1) Inbox · Wakeful", "when someone else answers one");
  await respond(output, "bob", { status: "approved" });
  await final(output);
  await says("Inbox · Wakeful", "when nothing waits");
});
