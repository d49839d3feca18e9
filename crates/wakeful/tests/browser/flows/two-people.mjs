// Two people at one item.

import { deliver, final, flow, holds, row, same, settled } from "./browser.mjs";

await flow("two-people", async (stage) => {
  const [ann, bob] = [await stage.window({ as: "ann" }), await stage.window({ as: "bob" })];
  const verdict = (page, name) => page.locator(".verdicts").getByRole("button", { name });

  // One after the other: bob is writing while ann answers.
  const slow = await deliver({ headline: "One after the other" });
  await Promise.all([ann.goto(`/items/${slow}`), bob.goto(`/items/${slow}`)]);
  await bob.getByLabel("Feedback").fill("I would rather not");
  await bob.locator("h1").click();
  await verdict(ann, "Approve").click();
  await ann.locator(".standing").waitFor();
  await bob.getByText("ann approved this").waitFor();
  holds(true, "who is writing is told above the form who was first");
  same(await bob.getByLabel("Feedback").inputValue(), "I would rather not", "what one writes is not swept away");
  stage.guard.expect(409);
  await verdict(bob, "Reject").click();
  await bob.getByRole("alert").waitFor();
  same(await bob.getByLabel("Feedback").inputValue(), "I would rather not", "what the second wrote is still there");
  const said = await bob.getByRole("alert").innerText();
  holds(said.includes("ann") && said.includes("approved"), "the second is told who was first and what they answered", said);
  await Promise.all([settled(ann), settled(bob)]);
  same((await final(slow)).status, "approved", "the first answer stands");

  // Truly at once.
  const race = await deliver({ headline: "At once" });
  await Promise.all([ann.goto(`/items/${race}`), bob.goto(`/items/${race}`)]);
  await Promise.all([ann, bob].map((page) => page.getByLabel("Feedback").focus()));
  const press = (page, status) => page.evaluate((status) => {
    const button = document.querySelector(`button[value="${status}"]`);
    button.form.requestSubmit(button);
  }, status);
  await Promise.all([press(ann, "approved"), press(bob, "rejected")]);
  await Promise.all([ann, bob].map((page) => settled(page)));
  const faults = await Promise.all([ann, bob].map((page) => page.getByRole("alert").count()));
  same(faults.toSorted(), [0, 1], "of two at once exactly one is told that the other was first");
  const status = (await final(race)).status;
  same(status, faults[0] ? "rejected" : "approved", "and the other's answer is the one the agent gets");

  // In the list, by keys.
  const list = await deliver({ headline: "In the list" });
  await Promise.all([ann.goto("/"), bob.goto("/")]);
  await ann.keyboard.press("j");
  await bob.keyboard.press("j");
  await ann.keyboard.press("a");
  await row(ann, list).waitFor({ state: "detached" });
  await bob.keyboard.press("r");
  await bob.locator("#toast").waitFor();
  const toast = await bob.locator("#toast").innerText();
  holds(toast.includes("ann") && toast.includes("approved"), "in the list one is told the same", toast);
  holds(/final at \d+:\d\d:\d\d/.test(toast), "and to the second when it becomes final", toast);
  await final(list);
});
