// Several at once.

import { deliver, final, flow, heads, holds, PHONE, respond, response, row, same, WIDE } from "./browser.mjs";

await flow("many", async (stage) => {
  for (const [verdict, status, size] of [["Approve", "approved", WIDE], ["Reject", "rejected", PHONE]]) {
    const at = `at ${size.width} px`;
    const page = await stage.window({ as: "ann", size });
    const ids = [];
    for (let number = 1; number <= 4; number += 1) ids.push(await deliver({ headline: `${verdict} ${number}` }));
    await page.goto("/");
    const bar = page.locator("#many");
    holds(!(await bar.isVisible()), `with nothing ticked nothing is offered, ${at}`);
    for (const id of ids.slice(0, 3)) await row(page, id).getByRole("checkbox").check();
    holds(await bar.isVisible(), `with something ticked it is, ${at}`);
    await bar.getByRole("button", { name: verdict }).click();
    await page.getByRole("heading", { name: new RegExp(`^${verdict} th`) }).waitFor();
    same(await heads(page), [3, 2, 1].map((number) => `${verdict} ${number}`), `first one sees what will be answered, ${at}`);
    same((await response(ids[0])).status, "pending", `and nothing is answered yet, ${at}`);
    await page.getByRole("button", { name: `${verdict} them` }).click();
    await page.getByRole("heading", { name: status }).waitFor();
    await page.locator(".row", { hasText: `${verdict} 2` }).getByRole("button", { name: "Undo" }).click();
    await page.getByRole("heading", { name: "Taken back" }).waitFor();
    same(await page.locator(".row").getByRole("button", { name: "Undo" }).count(), 2, `one taken back leaves the others to be taken back, ${at}`);
    same([(await final(ids[0])).status, (await final(ids[2])).status], [status, status], `the others become final, ${at}`);
    same([(await response(ids[1])).status, (await response(ids[3])).status], ["pending", "pending"], `one taken back and one not ticked wait on, ${at}`);
    await page.goto("/");
    same(await heads(page), [`${verdict} 4`, `${verdict} 2`], `and are in the list, ${at}`);
    for (const id of [ids[1], ids[3]]) await row(page, id).getByRole("checkbox").check();
    await bar.getByRole("button", { name: verdict }).click();
    await page.getByRole("button", { name: `${verdict} them` }).click();
    await page.getByRole("heading", { name: status }).waitFor();
    await page.keyboard.press("u");
    await page.getByRole("heading", { name: `1 of 2 ${status}` }).waitFor();
    holds((await page.title()).startsWith(`1 of 2 ${status}`), `the heading counts what still stands after u, ${at}`);
    const waits = await page.locator(".row", { hasText: "It waits for an answer." }).locator(".head").innerText();
    const [undone, stays] = waits.endsWith("4") ? [ids[3], ids[1]] : [ids[1], ids[3]];
    same([(await final(stays)).status, (await response(undone)).status], [status, "pending"], `and is right, ${at}`);
    await respond(undone, "ann", { status });
  }
});
