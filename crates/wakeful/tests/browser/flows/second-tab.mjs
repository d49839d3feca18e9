// `u` always says what happened, or why nothing did.

import { deliver, final, flow, holds, response, row, same } from "./browser.mjs";

await flow("second-tab", async (stage) => {
  const first = await stage.window({ as: "ann" });
  const second = await first.context().newPage();
  const said = async (page, where) => {
    await page.evaluate(() => document.querySelector("#toast")?.remove());
    await page.keyboard.press("u");
    await page.locator("#toast").waitFor({ timeout: 3_000 }).catch(() => {});
    const words = (await page.locator("#toast").count()) ? await page.locator("#toast").innerText() : "";
    holds(words, `u says something ${where}`);
    same(await page.locator("#toast").getAttribute("role"), "status", `and says it aloud ${where}`);
    return words;
  };
  const why = "Nothing to undo in this tab. An answer given elsewhere is undone there, or on its item.";

  const id = await deliver({ headline: "Answered in the first tab" });
  await Promise.all([first.goto("/"), second.goto("/")]);
  same(await said(first, "where nothing was answered"), why, "which is that nothing was answered there");
  await first.keyboard.press("j");
  await first.keyboard.press("a");
  await row(first, id).waitFor({ state: "detached" });
  same(await said(second, "in a second tab"), why, "which is that the answer was given elsewhere");
  same((await final(id)).status, "approved", "and the answer stands");
  same(await said(second, "in a second tab once it is final"), why, "which is still so");

  // Taken back: then nothing is left.
  const other = await deliver({ headline: "Taken back" });
  await first.goto("/");
  await first.keyboard.press("j");
  await first.keyboard.press("a");
  await row(first, other).waitFor({ state: "detached" });
  await first.keyboard.press("u");
  await row(first, other).waitFor();
  same(await said(first, "once more after an undo"), why, "which is that nothing is left to undo");
  same((await response(other)).status, "pending", "and nothing changes");
});
