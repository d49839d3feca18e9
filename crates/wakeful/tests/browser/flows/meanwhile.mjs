// What others do, or what one does oneself in another place, while a page is open:
// what it says stays true.

import { api, deliver, eventually, final, flow, given, holds, respond, row, same } from "./browser.mjs";

const undo = async (id, person) => {
  const undone = await api("POST", `/api/v1/inbox/${id}/undo`, given.people[person].token);
  if (undone.status >= 300) throw new Error(`not undone: ${undone.text}`);
};
const opened = (page, address) => Promise.all([page.waitForResponse("**/api/v1/events"), page.goto(address)]);
const title = (page, expected) => page.waitForFunction((expected) => document.title === expected, expected);
const says = (page, id, words, sentence) =>
  row(page, id).locator(".about", { hasText: words }).waitFor().then(() => holds(true, sentence));

await flow("meanwhile", async (stage) => {
  const [ann, bob] = [await stage.window({ as: "ann" }), await stage.window({ as: "bob" })];

  // Answered here, undone in a terminal.
  const alert = await deliver({ type: "alert", headline: "The disk is full" });
  await opened(ann, "/");
  await ann.keyboard.press("j");
  await ann.keyboard.press("a");
  await ann.locator("#list .calm").waitFor();
  await undo(alert, "ann");
  await row(ann, alert).waitFor();
  same(await ann.locator("#list .calm").count(), 0, "what is undone elsewhere is back in the list, which no longer says that nothing needs one");
  await title(ann, "(1) Inbox · Wakeful");

  // Somebody else holds an answer, and undoes it.
  await opened(bob, "/");
  await respond(alert, "ann", { status: "approved", hold_seconds: 30 });
  await says(bob, alert, "approved by ann, may be undone", "an answer that is held is shown to the others");
  await title(bob, "Inbox · Wakeful");
  same(await row(bob, alert).locator('input[type="checkbox"]').count(), 0, "and cannot be ticked");
  await undo(alert, "ann");
  await row(bob, alert).and(bob.locator('[data-open="true"]')).waitFor({ state: "attached" });
  same((await row(bob, alert).locator(".about").innerText()).includes("may be undone"), false, "and once it is undone nothing says that it is held");
  await title(bob, "(1) Inbox · Wakeful");

  // It becomes final: one word about it, and none about the agent's patience.
  const timed = await deliver({ type: "question", headline: "Go on?", timeout_seconds: 3_000 });
  await opened(bob, "/");
  await respond(timed, "ann", { status: "rejected", hold_seconds: 1 });
  await final(timed);
  await says(bob, timed, "rejected by ann", "a final answer is shown to the others");
  const about = await row(bob, timed).locator(".about").innerText();
  same([about.includes("may be undone"), about.includes("goes on")], [false, false], "and nothing that is over is said beside it");

  // What comes before the page listens.
  await respond(alert, "ann", { status: "approved" });
  let late = "";
  await bob.route("**/api/v1/events", async (route) => {
    if (!late) late = await deliver({ type: "alert", headline: "Before it listens" });
    await route.continue();
  });
  await bob.goto("/");
  await row(bob, late || "x").waitFor({ timeout: 1 }).catch(() => {});
  await eventually("what came before the page listened is in the list", async () => late && (await row(bob, late).count()) === 1);
  await bob.unroute("**/api/v1/events");
  holds(true, "what comes between a page and its stream appears");

  // A form that was refused: what it says is followed by what happens.
  const refused = await deliver({ headline: "Refused" });
  await opened(bob, `/items/${refused}`);
  await bob.getByLabel("Feedback").fill("My words");
  await respond(refused, "ann", { status: "rejected", hold_seconds: 8 });
  stage.guard.expect(409);
  await bob.locator(".verdicts").getByRole("button", { name: "Approve" }).click();
  await bob.getByRole("alert").waitFor();
  await undo(refused, "ann");
  await bob.getByRole("alert").getByText("ann took the answer back").waitFor();
  const old = (await bob.getByRole("alert").innerText()).includes("becomes final");
  same([old, await bob.locator("time").filter({ hasText: /^in / }).count()], [false, 0], "a page with a refused answer no longer says what was so before");
  same(await bob.getByLabel("Feedback").inputValue(), "My words", "and keeps what was written");

  // What came back by an undo, when somebody else answers first.
  const again = await deliver({ headline: "Taken back" });
  await opened(ann, `/items/${again}`);
  await ann.getByLabel("Feedback").fill("My reasons");
  await ann.locator(".verdicts").getByRole("button", { name: "Approve" }).click();
  await Promise.all([ann.waitForResponse("**/api/v1/events"), ann.locator(".standing").getByRole("button", { name: "Undo" }).click()]);
  await ann.locator("#answer").waitFor();
  await respond(again, "bob", { status: "approved" });
  await ann.locator(".item .standing").getByText("bob approved this").waitFor();
  same(await ann.getByLabel("Feedback").inputValue(), "My reasons", "what came back by an undo stays when somebody else answers");

  // The agent goes on.
  const put = await deliver({ type: "question", headline: "Put aside" });
  await respond(late, "ann", { status: "approved" });
  await respond(refused, "ann", { status: "approved" });
  await opened(ann, "/");
  await ann.keyboard.press("j");
  await ann.keyboard.press("s");
  await ann.locator("#aside", { hasText: /^\s*1 / }).waitFor();
  same(await row(ann, put).count(), 0, "what is put aside is counted below the list at once");
});
