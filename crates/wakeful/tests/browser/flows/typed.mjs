// What is typed while an answer is on its way is neither sent for the next item
// nor taken for keys there.

import { api, deliver, final, flow, given, same } from "./browser.mjs";

/** So long one would wait for a page that leads on by itself. */
const LEADS_ON_MS = 2_000;

await flow("typed", async (stage) => {
  for (const verdict of ["r", "a"]) {
    const next = await deliver({ headline: "The next" });
    const first = await deliver({ headline: "The first" });
    const page = await stage.window({ as: "ann" });
    // The network is slow: the answer arrives when we say so.
    let arrive;
    const arrives = new Promise((resolve) => { arrive = resolve; });
    await page.route(`**/items/${first}/answer`, async (route) => {
      await arrives;
      await route.continue();
    });
    await page.goto("/");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/items/${first}`);
    await page.waitForLoadState();
    const sent = page.waitForRequest(`**/items/${first}/answer`);
    await page.keyboard.press(verdict);
    await sent;
    // One goes on typing for the item that is there to be seen.
    await page.keyboard.press("f");
    await page.keyboard.type("Because");
    arrive();
    await page.waitForURL(`**/items/${next}`, { timeout: LEADS_ON_MS }).catch(() => {});
    await page.keyboard.type(" a pair are rather scarce, see", { delay: 5 });
    const status = verdict === "a" ? "approved" : "rejected";
    same((await final(first)).status, status, `"${verdict}" answers the item it was pressed on`);
    const history = (await api("GET", `/api/v1/inbox/${next}/history`, given.people.ann.token)).json().entries.map(({ event_type }) => event_type);
    same(history.filter((event) => event.includes("answer")), [], `no letter of a text that was begun on one item answers the next, not even for a moment, after "${verdict}"`);
    await page.goto(`/items/${next}`);
    same(await page.locator("#feedback").inputValue(), "", `and nothing of it is in the next one's feedback, after "${verdict}"`);
    await page.locator(".verdicts").getByRole("button", { name: "Approve" }).click();
    await page.locator(".standing").waitFor();
    const told = await final(next);
    same([told.status, told.feedback ?? null], ["approved", null], `nor sent with its answer, after "${verdict}"`);
    await page.context().close();
  }
});
