// JavaScript off.

import { ask, deliver, final, flow, given, heads, holds, PHONE, response, row, same, WIDE } from "./browser.mjs";

// Without scripts the page key stands in the address.
const inAddress = /\/~([0-9a-f]{64})\//;
const inbox = (url) => url.pathname.replace(inAddress, "/") === "/";

await flow("plain", async (stage) => {
  for (const size of [WIDE, PHONE]) {
    const at = `without JavaScript at ${size.width} px`;
    const one = await deliver({ headline: "One", details: "# Hello\n\n*there*", details_format: "markdown" });
    const two = await deliver({ headline: "Two", details: { a: 1 } });
    const page = await stage.window({ as: "ann", size, javaScriptEnabled: false });
    await page.goto("/");
    same(await heads(page), ["Two", "One"], `the list is there, ${at}`);
    await row(page, one).locator(".head").click();
    await page.waitForURL(`**/items/${one}`);
    holds((await page.locator(".details em").innerText()) === "there", `the item is there, ${at}`);

    await page.locator("#feedback").fill("Fine.");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".standing").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    same((await response(one)).status, "pending", `an answer is taken back, ${at}`);

    await page.goto(`/items/${two}`);
    await page.getByText("Change it").click();
    await page.locator("#edited").fill('{"a": 1,}');
    stage.guard.expect(422);
    await page.getByRole("button", { name: "Redirect" }).click();
    await page.getByRole("alert").waitFor();
    holds((await page.getByRole("alert").innerText()).startsWith("The content is"), `broken JSON is refused by the server, ${at}`);
    same(await page.locator("#edited").inputValue(), '{"a": 1,}', `and what was written is still there, ${at}`);
    await page.locator("#edited").fill('{"a": 2}');
    await page.getByRole("button", { name: "Redirect" }).click();
    await page.locator(".standing").waitFor();
    same((await final(two)).edited_content, { a: 2 }, `a redirect arrives, ${at}`);

    const three = await deliver({ headline: "Three" });
    await page.goto("/");
    for (const id of [one, three]) await row(page, id).getByRole("checkbox").check();
    await page.locator("#many").getByRole("button", { name: "Reject" }).click();
    await page.getByRole("button", { name: "Reject them" }).click();
    await page.getByRole("heading", { name: "rejected" }).waitFor();
    same([(await final(one)).status, (await final(three)).status], ["rejected", "rejected"], `many are answered together, ${at}`);

    await page.goto("/you");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/sign-in");
    holds(true, `one signs out, ${at}`);
    const { link } = await ask("make a link");
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/you");
    if (size === WIDE) {
      await page.locator("#new").fill("without any script");
      await page.getByRole("button", { name: "Set password" }).click();
      await page.getByText("Your password was set.").waitFor();
      await page.getByRole("link", { name: "To the inbox" }).click();
      await page.waitForURL(inbox);
    }
    await page.goto("/you");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.goto("/sign-in");
    await page.locator("#name").fill("ann");
    await page.locator("#password").fill("without any script");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(inbox);
    holds(true, `one signs in by link and by password, ${at}`);
    given.people.ann.cookie = (await page.context().cookies()).filter(({ path }) => path === "/").map(({ name, value }) => ({ name, value }))[0];
    given.people.ann.key = page.url().match(inAddress)[1];
  }
});
