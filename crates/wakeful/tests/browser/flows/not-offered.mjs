// What reviewers and viewers are not allowed is not offered to them.

import { deliver, flow, given, holds, PHONE, same, WIDE } from "./browser.mjs";
import { looksRight } from "./hands.mjs";

const OWNERS = { w: "/webhooks", p: "/people", s: "/settings" };

await flow("not-offered", async (stage) => {
  const item = await deliver({ type: "question", headline: "May I?" });
  for (const [name, role] of [["bob", "reviewer"], ["eve", "viewer"]]) {
    for (const size of [WIDE, PHONE]) {
      const to = `to a ${role} at ${size.width} px`;
      const page = await stage.window({ as: name, size });
      const main = page.getByRole("main");
      await page.goto("/agents");
      same(await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts(), ["Inbox", "Done", "Agents", "Trail"], `no place of owners is offered ${to}`);
      holds(await page.getByRole("heading", { name: "scout" }).isVisible(), `agents are shown ${to}`);
      same(await main.locator("form, button, input, select, textarea, summary").count(), 0, `nothing is offered to do about them ${to}`);
      same((await main.getByRole("link").allInnerTexts()).filter((link) => !["In the inbox", "Prompt"].includes(link)), [], `nor is connecting one ${to}`);
      await looksRight(page, `the list of agents as shown ${to}`);
      await page.goto("/agents/scout/prompt");
      await main.getByText("/wake/v1/deliver").first().waitFor();

      // The keys that lead an owner there lead nowhere: not even to a refusal.
      for (const letter of Object.keys(OWNERS)) {
        await page.keyboard.press("g");
        await page.keyboard.press(letter);
        holds(new URL(page.url()).pathname === "/agents/scout/prompt", `g and ${letter} lead nowhere, as is right ${to}`);
      }
      await page.keyboard.press("g");
      await Promise.all([page.waitForURL("**/done"), page.keyboard.press("d")]);
      stage.guard.check();

      await page.goto(`/items/${item}`);
      same(await page.getByRole("button", { name: "Approve" }).count(), role === "reviewer" ? 1 : 0, `answering is${role === "reviewer" ? "" : " not"} offered ${to}`);
      same(await main.getByText(/^Erase/).count(), 0, `erasing is not offered ${to}`);
      await page.goto("/");
      same(await main.getByRole("checkbox").count(), role === "reviewer" ? 1 : 0, `ticking is${role === "reviewer" ? "" : " not"} offered ${to}`);
      await page.context().close();
    }
  }

  // Whoever goes there all the same is told, and has a way back.
  stage.guard.expect(403);
  for (const [name, role] of [["bob", "reviewer"], ["eve", "viewer"]]) {
    for (const size of [WIDE, PHONE]) {
      const page = await stage.window({ as: name, size });
      for (const path of [...Object.values(OWNERS), "/connect"]) {
        const to = `to a ${role} at ${size.width} px`;
        same((await page.goto(path)).status(), 403, `${path} is refused ${to}`);
        same(await page.getByRole("heading", { level: 1 }).innerText(), "Not yours to open", `and that is said ${to}`);
        await looksRight(page, `the refusal as shown ${to}`);
      }
      await page.getByRole("link", { name: "To the inbox" }).click();
      await page.waitForURL(`${given.address}/`);
      await page.context().close();
    }
  }
});
