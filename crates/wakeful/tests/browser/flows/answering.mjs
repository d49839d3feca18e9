// Answers with the mouse.

import { deliver, final, flow, given, holds, api, PHONE, response, row, same, settled, WIDE } from "./browser.mjs";

const standing = (page) => page.locator(".standing");
const verdict = (page, name) => page.locator(".verdicts").getByRole("button", { name });

await flow("answering", async (stage) => {
  // Holds take their time; ann and bob wait for theirs together.
  await Promise.all([play("ann", "bob", WIDE), play("bob", "ann", PHONE)]);
  const page = await stage.window({ as: "ann" });
  await page.goto("/");
  same(await page.locator(".calm").innerText(), "Nothing needs you.", "a list with nothing in it says so");

  async function play(me, another, size) {
    const at = `at ${size.width} px`;
    const page = await stage.window({ as: me, size });

    // Approve with feedback; close the tab; it becomes final by itself.
    const approved = await deliver({ headline: "Approve me" });
    await page.goto(`/items/${approved}`);
    await page.getByLabel("Feedback").fill("Good.\nShip it — ✓");
    await verdict(page, "Approve").click();
    await standing(page).waitFor();
    holds((await standing(page).innerText()).startsWith(`approved by ${me}, final in`), `an answer is held for a moment, ${at}`);
    same((await response(approved)).status, "pending", `and the agent does not see it yet, ${at}`);
    await page.goto("about:blank");
    const told = await final(approved);
    same([told.status, told.feedback], ["approved", "Good.\nShip it — ✓"], `it becomes final though the tab is closed, with the feedback as it was typed, ${at}`);

    // Undo.
    const undone = await deliver({ headline: "Reject me not" });
    await page.goto(`/items/${undone}`);
    await verdict(page, "Reject").click();
    await standing(page).getByRole("button", { name: "Undo" }).click();
    await verdict(page, "Reject").waitFor();
    same((await response(undone)).status, "pending", `an answer is taken back within the hold, ${at}`);
    await verdict(page, "Reject").click();
    await standing(page).waitFor();
    await settled(page);
    same((await final(undone)).status, "rejected", `and can be given again, ${at}`);

    // Redirect a text.
    const text = await deliver({ headline: "Change my text", details: "Dear  reader,\n\n\twe are sory. <b>&amp;</b> é\u00a0" });
    await page.goto(`/items/${text}`);
    await page.getByText("Change it").click();
    const editor = page.locator("#edited");
    same(await editor.inputValue(), "Dear  reader,\n\n\twe are sory. <b>&amp;</b> é\u00a0", `the editor holds the content exactly, ${at}`);
    const better = "\nDear  reader,\n\n\twe are sorry. <b>&amp;</b> é\u00a0\n";
    await editor.fill(better);
    await verdict(page, "Redirect").click();
    await standing(page).waitFor();
    const changed = await final(text);
    same([changed.status, changed.edited_content], ["redirected", better], `a redirected text arrives exactly as it was written, ${at}`);
    await settled(page);
    holds(true, `an open item tells by itself that its answer is final, ${at}`);
    holds((await standing(page).innerText()).includes("As it was changed"), `the item shows what was changed, ${at}`);

    // Redirect an object.
    const object = await deliver({ headline: "Change my object", details: { price: 12, tags: ["a"] } });
    await page.goto(`/items/${object}`);
    await page.getByText("Change it").click();
    await editor.fill('{"price": 12.50, "tags": ["a", ]}');
    holds((await page.locator("#edited-said").innerText()).length > 0, `broken JSON is told while one types, ${at}`);
    await verdict(page, "Redirect").click();
    same(await editor.evaluate((field) => field.validity.valid), false, `broken JSON is not sent, ${at}`);
    same((await response(object)).status, "pending", `and answers nothing, ${at}`);
    await editor.fill('{"price": 12.50, "tags": ["a", "b"], "big": 12345678901234567890}');
    await verdict(page, "Redirect").click();
    await standing(page).waitFor();
    await settled(page);
    const exact = (await api("GET", `/wake/v1/response/${object}`, given.keys.scout)).text;
    holds(exact.includes('{"price": 12.50, "tags": ["a", "b"], "big": 12345678901234567890}')
      || exact.includes('{"price":12.50,"tags":["a","b"],"big":12345678901234567890}'), `a redirected object arrives with every digit, ${at}`, exact);

    // What is broken in a closed editor stops a redirect alone, and is shown.
    const broken = await deliver({ headline: "Broken", details: { a: 1 } });
    await page.goto(`/items/${broken}`);
    await page.getByText("Change it").click();
    await editor.fill('{"a": 2,}');
    await page.getByText("Change it").click();
    await verdict(page, "Redirect").click();
    holds(await editor.isVisible(), `an editor that keeps an answer back is opened, ${at}`);
    stage.guard.expect(422);
    await verdict(page, "Approve").click();
    await page.getByRole("alert").waitFor();
    holds((await page.getByRole("alert").innerText()).startsWith("You changed the content"), `an edit is not dropped without a word, ${at}`);
    same(await editor.inputValue(), '{"a": 2,}', `and is still there, ${at}`);
    await editor.fill('{"a": 2}');
    await page.locator("#preview").getByText("2", { exact: false }).first().waitFor();
    await verdict(page, "Approve it as delivered").click();
    await standing(page).waitFor();
    await settled(page);
    const plainly = await final(broken);
    same([plainly.status, plainly.edited_content ?? null], ["approved", null], `approved as it was delivered, ${at}`);

    // What was changed is shown while one types, and what no editor shows.
    const hidden = await deliver({ headline: "Hidden", details: "pay rob\u202e" });
    await page.goto(`/items/${hidden}`);
    await page.getByText("Change it").click();
    holds((await page.locator("#preview").innerText()).includes("RIGHT-TO-LEFT OVERRIDE"), `what no editor shows is listed, ${at}`);
    await editor.fill("pay ann\u202e");
    await page.getByRole("heading", { name: "What you changed" }).waitFor();
    holds((await page.locator("#preview").innerText()).includes("ann"), `changes are shown while one types, ${at}`);
    await verdict(page, "Redirect").click();
    await standing(page).waitFor();
    await settled(page);

    // Redirect with feedback alone.
    const words = await deliver({ headline: "Redirect me by words" });
    await page.goto(`/items/${words}`);
    await page.getByLabel("Feedback").fill("Look north instead.");
    await verdict(page, "Redirect").click();
    await standing(page).waitFor();
    await settled(page);
    const north = await final(words);
    same([north.status, north.feedback, north.edited_content ?? null], ["redirected", "Look north instead.", null], `a redirect needs no changed content, ${at}`);

    // Put aside, and back.
    const aside = await deliver({ headline: "Not now" });
    await page.goto(`/items/${aside}`);
    await page.getByLabel("Put aside for").selectOption("4");
    await page.getByRole("button", { name: "Put aside" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    same(await row(page, aside).count(), 0, `what is put aside is out of sight, ${at}`);
    const other = await stage.window({ as: another, size });
    await other.goto("/");
    same(await row(other, aside).count(), 1, `for that person alone, ${at}`);
    await page.getByRole("link", { name: "1 put aside" }).click();
    await row(page, aside).waitFor();
    holds(true, `and is found again, ${at}`);
    await row(page, aside).locator(".head").click();
    await page.getByRole("button", { name: "Back to the inbox" }).click();
    await page.waitForURL((url) => url.pathname === "/");
    same(await row(page, aside).count(), 1, `and brought back, ${at}`);
    await page.goto(`/items/${aside}`);
    await verdict(page, "Approve").click();
    await settled(page);
  }
});
