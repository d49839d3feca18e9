// An inbox with nothing in it, and what is delivered into it while it is open.

import { deliver, final, flow, heads, holds, PHONE, response, row, same, WIDE } from "./browser.mjs";

/** At once: before anyone would look again. */
const AT_ONCE_MS = 3_000;

await flow("emptied", async (stage) => {
  for (const size of [WIDE, PHONE]) {
    const at = `at ${size.width} px`;
    const page = await stage.window({ as: "ann", size });
    const calm = page.locator("#list .calm");
    const current = () => page.evaluate(() => document.activeElement.closest(".row")?.dataset.id);
    const appears = (id) => row(page, id).waitFor({ state: "attached", timeout: AT_ONCE_MS });

    // Empty when it was opened.
    await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);
    same(await calm.innerText(), "Nothing needs you.", `an empty inbox says so, ${at}`);
    const first = await deliver({ type: "alert", headline: "The disk is full" });
    await appears(first);
    same([await calm.count(), await page.locator("#fresh").isVisible()], [0, false], `an alert appears in an empty inbox, which no longer says that nothing needs one, ${at}`);
    await page.keyboard.press("j");
    same(await current(), first, `j goes to it, ${at}`);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/items/${first}`);
    holds(true, `and Enter opens it, ${at}`);

    // Emptied by an answer that can still be undone.
    await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto("/")]);
    await page.keyboard.press("j");
    await page.keyboard.press("a");
    await calm.waitFor();
    const second = await deliver({ type: "alert", headline: "The disk is still full" });
    await appears(second);
    same([(await heads(page))[0], await page.locator('.row[data-open="true"]').count()], ["The disk is still full", 1], `and so does one in an inbox that was emptied, as the only one that waits, ${at}`);
    await page.keyboard.press("u");
    await row(page, first).waitFor();
    same([(await response(first)).status, await row(page, second).count()], ["pending", 1], `the answer before it can still be undone, and both are in the list, ${at}`);

    // What a key reaches is what it answers.
    for (let left = 2; left > 0; left -= 1) {
      if (!(await current())) await page.keyboard.press("j");
      const answered = await current();
      await page.keyboard.press("r");
      await row(page, answered).waitFor({ state: "detached" });
    }
    await calm.waitFor();
    same([(await final(first)).status, (await final(second)).status], ["rejected", "rejected"], `both are answered by keys, ${at}`);

    // Delivered before the last one in the list is answered, and not yet in it.
    const third = await deliver({ headline: "In the list" });
    await appears(third);
    const fourth = await deliver({ headline: "Came meanwhile" });
    await page.locator("#fresh").waitFor();
    if (!(await current())) await page.keyboard.press("j");
    await page.keyboard.press("a");
    await appears(fourth);
    same([await calm.count(), await page.title()], [0, "(1) Inbox · Wakeful"], `what came before the list was emptied appears in it by itself, ${at}`);
    if (!(await current())) await page.keyboard.press("j");
    await page.keyboard.press("a");
    await calm.waitFor();
    same([(await final(third)).status, (await final(fourth)).status], ["approved", "approved"], `and is answered, ${at}`);
  }
});
