// From one item to the next without the keyboard, and nothing is answered that
// cannot be seen.

import { deliver, final, fits, flow, holds, PHONE, response, row, same, WIDE } from "./browser.mjs";

const LINES = 6_000;
const long = `${Array.from({ length: LINES }, (_, at) => `Line ${at}`).join("\n")}\nthe end of it`;

await flow("onward", async (stage) => {
  for (const size of [WIDE, PHONE]) {
    const at = `at ${size.width} px`;
    const page = await stage.window({ as: "ann", size });
    const update = await deliver({ type: "update", headline: "Folded away" });
    const second = await deliver({ headline: "The second" });
    const first = await deliver({ headline: "The first", details: long, details_format: "text" });
    await page.goto("/");

    // Folded updates are out of reach of the keys.
    await page.locator("main").focus();
    for (let times = 0; times < 5; times += 1) await page.keyboard.press("j");
    same(await page.locator(".row.here").getAttribute("data-id"), second, `j stops at the last row in sight, ${at}`);
    await page.keyboard.press("x");
    await page.keyboard.press("x");
    await page.locator("details.update summary").click();
    await page.keyboard.press("j");
    await page.locator("details.update summary").click();

    // A long one: it says so, the rest can be read, and the answers are in sight.
    await row(page, first).locator(".head").click();
    await page.getByRole("note").filter({ hasText: "only the beginning" }).waitFor();
    const approve = page.locator(".verdicts").getByRole("button", { name: "Approve" });
    const box = await approve.boundingBox();
    holds(box.y > 0 && box.y + box.height <= size.height, `the answers of a long item are in sight at once, ${at}`, box);
    await fits(page, `a long item fits the window, ${at}`);
    await page.getByRole("link", { name: "read all of it" }).click();
    await page.waitForURL("**/raw");
    const whole = await page.locator("main pre").innerText();
    holds(whole.includes(`Line ${LINES - 1}\nthe end of it`), `all of it can be read, line under line, ${at}`);
    await page.getByRole("link", { name: "Back" }).click();

    // On by the mouse, with the undo in one line over what else is there.
    await approve.click();
    await page.locator(".standing").getByRole("link", { name: "Next" }).click();
    await page.waitForURL(`**/items/${second}`);
    const toast = await page.locator("#toast").boundingBox();
    const undo = page.locator("#toast button");
    const height = (await undo.boundingBox()).height;
    holds(height < 40 && toast.x >= 0 && toast.x + toast.width <= size.width, `what can be undone stands in a line, ${at}`, toast, height);
    const bar = await page.locator(".verdicts").boundingBox();
    holds(toast.y + toast.height <= bar.y || toast.y >= bar.y + bar.height, `and not over the answers, ${at}`, toast, bar);
    await undo.click();
    await page.waitForURL(`**/items/${first}`);
    await approve.waitFor();
    same((await response(first)).status, "pending", `it is taken back, ${at}`);

    // Back to the list one came from.
    await page.goto(`/?agent=scout`);
    await row(page, second).locator(".head").click();
    await page.locator(".item .back").click();
    await page.waitForURL("**/?agent=scout");
    holds(true, `from an item one comes back to the same list, ${at}`);

    // The last one leads to the inbox.
    for (const id of [first, second]) {
      await page.goto(`/items/${id}`);
      await page.locator(".verdicts").getByRole("button", { name: "Reject" }).click();
      await page.locator(".standing").waitFor();
    }
    await page.locator(".standing").getByRole("link", { name: "Next" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    same((await final(first)).status, "rejected", `both are answered, ${at}`);
    same((await response(update)).status, "pending", `and what was folded away is not, ${at}`);
    await page.locator("details.update summary").click();
    await row(page, update).locator(".head").click();
    await page.locator(".verdicts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".standing").waitFor();
    // Until then they stand in the list.
    for (const id of [second, update]) await final(id);
  }

  // Without a script the server knows the way.
  const waits = await deliver({ type: "question", headline: "Still here" });
  const plain = await stage.window({ as: "ann", javaScriptEnabled: false });
  await plain.goto("/next");
  await plain.waitForURL(`**/items/${waits}`);
  await plain.getByRole("link", { name: "Next" }).click();
  await plain.waitForURL((url) => url.pathname === "/");
  holds(true, "without JavaScript too, one is led on");
});
