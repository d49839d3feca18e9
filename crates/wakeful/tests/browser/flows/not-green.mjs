// Under an answer that is final no answer is offered as the thing to do.

import { deliver, eventually, flow, holds, respond, same } from "./browser.mjs";

await flow("not-green", async (stage) => {
  const bob = await stage.window({ as: "bob" });
  const green = bob.locator(".verdicts button.main");
  for (const status of ["approved", "rejected"]) {
    const id = await deliver({ headline: "Answered meanwhile", details: "A text" });
    await Promise.all([bob.waitForResponse("**/api/v1/events"), bob.goto(`/items/${id}`)]);
    same(await green.innerText(), "Approve", "what waits offers Approve first");
    await bob.getByLabel("Feedback").fill("I was about to say");
    await respond(id, "ann", { status });
    await bob.locator("#meanwhile").waitFor();
    const said = await bob.locator("#meanwhile").innerText();
    holds(said.includes(`ann ${status} this`), `who writes is told that it is ${status}`, said);
    await eventually("the answers have been looked at again", async () => (await green.count()) === 0, 1_000).catch(() => {});
    same(await green.count(), 0, `nothing is green under an answer that is final: ${status}`);
    same(await bob.getByLabel("Feedback").inputValue(), "I was about to say", "what was written is still there");
    // Nor does it become green by going on to write.
    await bob.getByLabel("Feedback").fill("I was about to say more");
    await bob.getByText("Change it").click();
    await bob.locator("#edited").fill("Another text");
    same(await green.count(), 0, `nor by going on to write: ${status}`);
  }

  // An answer that is held and undone: then it waits again.
  const held = await deliver({ headline: "Held for a moment" });
  const ann = await stage.window({ as: "ann" });
  await Promise.all([bob.waitForResponse("**/api/v1/events"), bob.goto(`/items/${held}`)]);
  await bob.getByLabel("Feedback").fill("I was about to say");
  await ann.goto(`/items/${held}`);
  await ann.locator(".verdicts").getByRole("button", { name: "Approve" }).click();
  await bob.getByText("ann approved this").waitFor();
  await ann.locator(".standing").getByRole("button", { name: "Undo" }).click();
  await bob.getByText("ann took the answer back").waitFor();
  await green.waitFor();
  same(await green.innerText(), "Approve", "what waits again offers Approve first");
});
