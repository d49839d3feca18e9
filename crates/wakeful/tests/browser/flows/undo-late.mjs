// `u` after the time is over says since when the answer is final.

import { deliver, final, flow, holds, response, row, same } from "./browser.mjs";

await flow("undo-late", async (stage) => {
  const page = await stage.window({ as: "ann" });
  const toast = page.locator("#toast");
  const late = async (head, where) => {
    // What was said before is not what is said now.
    await page.evaluate(() => document.querySelector("#toast")?.remove());
    await page.keyboard.press("u");
    await toast.waitFor({ timeout: 3_000 }).catch(() => {});
    const said = (await toast.count()) ? await toast.innerText() : "";
    holds(/final since .*\d/i.test(said) && said.includes(head), `u says since when the answer is final, ${where}`, said);
    same(await toast.getAttribute("role"), "status", `and says it aloud, ${where}`);
    same(await toast.getByRole("button", { name: "Undo" }).count(), 0, `and offers no undo, ${where}`);
  };

  // In the list.
  const [waiting, listed] = [await deliver({ headline: "Waits on" }), await deliver({ headline: "In the list" })];
  await page.goto("/");
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await row(page, listed).waitFor({ state: "detached" });
  same((await final(listed)).status, "approved", "an answer by a key becomes final");
  await late("In the list", "in the list");
  same(await row(page, waiting).count(), 1, "and changes nothing in it");

  // On the item itself.
  await page.goto(`/items/${listed}`);
  await late("", "on the item itself");
  same(new URL(page.url()).pathname, `/items/${listed}`, "and one stays on it");

  // On the next item.
  const next = await deliver({ headline: "The next" });
  const first = await deliver({ headline: "The first" });
  await page.goto("/");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/items/${first}`);
  await page.keyboard.press("r");
  await page.waitForURL(`**/items/${next}`);
  await final(first);
  await late("The first", "on the next item");
  same([new URL(page.url()).pathname, (await response(next)).status], [`/items/${next}`, "pending"], "and one stays on that, which is untouched");

  // Answers that were given together.
  await page.goto("/");
  for (const id of [waiting, next]) await row(page, id).getByRole("checkbox").check();
  await page.keyboard.press("a");
  await page.getByRole("button", { name: "Approve them" }).click();
  await page.getByRole("heading", { name: "Approved" }).waitFor();
  await Promise.all([final(waiting), final(next)]);
  await late("", "after answers that were given together");
});
