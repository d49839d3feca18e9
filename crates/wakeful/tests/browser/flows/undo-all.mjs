// Undoing several answers at once says of each item what really happened to it.

import { deliver, final, flow, holds, respond, response, row, same } from "./browser.mjs";

const about = (page, head) => page.locator(".row", { hasText: head }).locator(".about").innerText();

await flow("undo-all", async (stage) => {
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? "with JavaScript" : "without JavaScript";
    const page = await stage.window({ as: "ann", javaScriptEnabled });
    const h1 = () => page.locator("h1").innerText();

    /** Approves these together; `meanwhile` happens between the review and the answer. */
    const approve = async (ids, meanwhile = async () => {}) => {
      await page.goto("/");
      for (const id of ids) await row(page, id).getByRole("checkbox").check();
      await page.locator("#many").getByRole("button", { name: "Approve" }).click();
      await page.getByRole("button", { name: "Approve them" }).waitFor();
      await meanwhile();
      await page.getByRole("button", { name: "Approve them" }).click();
      await page.getByRole("heading", { name: "Approved" }).waitFor();
    };
    /** Presses a button of the page, unless the page has taken it away by itself. */
    const press = async (button) => {
      if (!(await button.isVisible())) return;
      await Promise.all([page.waitForEvent("load"), button.click()]);
    };

    // All of them too late.
    const late = [await deliver({ headline: "Late one" }), await deliver({ headline: "Late two" }), await deliver({ headline: "In time" })];
    await approve(late);
    await page.locator(".row", { hasText: "In time" }).getByRole("button", { name: "Undo" }).click();
    await page.getByRole("heading", { name: "Taken back" }).waitFor();
    same((await response(late[2])).status, "pending", `one is taken back in time, ${how}`);
    for (const id of late.slice(0, 2)) await final(id);
    await press(page.getByRole("button", { name: "Undo all" }));
    for (const head of ["Late one", "Late two"]) {
      const said = await about(page, head);
      holds(/approved/i.test(said) && /final since .*\d/i.test(said), `"Undo all" too late says since when "${head}" is final, ${how}`, said);
    }
    holds(/waits for an answer/.test(await about(page, "In time")), `and that what was taken back before waits, ${how}`, await about(page, "In time"));
    const heading = await h1();
    holds(!/^(taken back|undone)$/i.test(heading), `the heading does not say that they were taken back, ${how}`, heading);

    // One of them too late, by its own button.
    const alone = [await deliver({ headline: "Alone" }), await deliver({ headline: "Beside it" })];
    await approve(alone);
    for (const id of alone) await final(id);
    await press(page.locator(".row", { hasText: "Alone" }).getByRole("button", { name: "Undo" }));
    holds(/final since .*\d/i.test(await about(page, "Alone")), `one "Undo" too late says since when it is final, ${how}`, await about(page, "Alone"));
    holds(!/^(taken back|undone)$/i.test(await h1()), `nor does the heading then, ${how}`, await h1());

    // In time, but one of them is someone else's.
    const mixed = [await deliver({ headline: "Mine" }), await deliver({ headline: "Mine too" }), await deliver({ headline: "Of bob" })];
    await approve(mixed, () => respond(mixed[2], "bob", { status: "rejected" }));
    await press(page.getByRole("button", { name: "Undo all" }));
    same((await Promise.all(mixed.map((id) => response(id)))).map(({ status }) => status), ["pending", "pending", "rejected"], `"Undo all" takes back one's own, ${how}`);
    for (const head of ["Mine too", "Mine"]) {
      const said = await page.locator(".row", { has: page.getByText(head, { exact: true }) }).locator(".about").innerText();
      holds(/waits for an answer/.test(said), `and says of "${head}" that it waits again, ${how}`, said);
    }
    const others = await about(page, "Of bob");
    holds(/bob/.test(others) && /rejected/i.test(others) && /final/i.test(others), `and of another's answer whose it is, and that it is final, ${how}`, others);

    await approve([late[2], ...mixed.slice(0, 2)]);
    for (const id of [late[2], ...mixed.slice(0, 2)]) await final(id);
  }
});
