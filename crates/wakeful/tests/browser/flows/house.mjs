// The rest of the house by mouse and keyboard: the trail, groups, settings, erasing.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { deliver, fits, flow, given, heads, holds, PHONE, respond, row, same, WIDE } from "./browser.mjs";

const events = (page) => page.locator("li[data-position] > strong").allInnerTexts();

await flow("house", async (stage) => {
  const id = await deliver({ type: "question", headline: "A needle in the trail", details: "Once there was content" });
  await deliver({ type: "output", headline: "Not this one" }, "coder");
  await respond(id, "bob", { status: "approved", feedback: "Well done" });

  // The trail is searched.
  for (const size of [WIDE, PHONE]) {
    const at = `at ${size.width} px`;
    const page = await stage.window({ as: "ann", size });
    await page.goto("/");
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL("**/trail");
    await page.keyboard.press("/");
    await page.keyboard.type("needle in the");
    await Promise.all([page.waitForURL("**q=needle**"), page.keyboard.press("Enter")]);
    same(await events(page), ["delivery received"], `a text is found by keys alone, ${at}`);
    await page.getByLabel("Search").fill(id);
    await page.getByLabel("Event").selectOption("delivery_answered");
    await Promise.all([page.waitForURL(`**q=${id}**`), page.getByRole("button", { name: "Show" }).click()]);
    same(await events(page), ["delivery answered"], `a delivery's id and an event narrow it further, ${at}`);
    await page.getByRole("link", { name: "All", exact: true }).click();
    await page.waitForURL((url) => url.search === "");
    await page.getByLabel("Stream").fill("agent/coder");
    await page.getByLabel("From").fill("2001-01-01");
    await Promise.all([page.waitForURL("**stream=agent%2Fcoder**"), page.getByRole("button", { name: "Show" }).click()]);
    holds((await events(page)).join() === "delivery received", `a stream and a day too, ${at}`);
    await fits(page, `the trail fits the window, ${at}`);
  }

  // It is verified: the page says how far it is, and then that it is done.
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? "with JavaScript" : "without JavaScript";
    const page = await stage.window({ as: "ann", javaScriptEnabled });
    const loads = [];
    page.on("load", () => loads.push(page.url()));
    await page.goto("/trail");
    await page.getByRole("button", { name: "Verify now" }).click();
    await page.waitForURL("**/trail/verify");
    const bar = page.getByRole("progressbar");
    await bar.waitFor();
    holds(Number(await bar.getAttribute("max")) > given.entries, `the page says how much there is to read, ${how}`);
    if (javaScriptEnabled) {
      await page.waitForFunction(() => { const bar = document.querySelector("progress"); return bar && bar.value > 0 && bar.value < bar.max; });
      same(loads.length, 2, "the bar moves without the page being loaded again");
    }
    const verified = page.getByText(/^Verified: \d+ entries/);
    const ask = page.getByRole("link", { name: "See how far it is" });
    while (!javaScriptEnabled && !(await verified.isVisible())) {
      await Promise.all([page.waitForEvent("load"), ask.click()]);
    }
    await verified.waitFor();
    holds(await page.getByRole("button", { name: "Verify now" }).isVisible(), `and says when it is verified, ${how}`);
  }

  // It is exported.
  const page = await stage.window({ as: "ann" });
  await page.goto("/trail");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export all of it" }).click()]);
  const file = join(given.data, download.suggestedFilename());
  await download.saveAs(file);
  const said = execFileSync(given.wakeful, ["trail", "verify", file, "--key", given.trail_key], { encoding: "utf8" });
  holds(said.startsWith("verified: "), "the export downloads and verifies with the log's key alone", said);

  // Groups.
  const grouped = await stage.window({ as: "bob" });
  await grouped.goto("/");
  await grouped.getByLabel("Order").selectOption("agent");
  await Promise.all([grouped.waitForURL("**group=agent**"), grouped.getByRole("button", { name: "Show" }).click()]);
  const [busy, coder] = [grouped.getByRole("region", { name: "scout" }), grouped.getByRole("region", { name: "coder" })];
  same((await coder.locator(".head").innerText()).replace(/^New:\s*/, ""), "Not this one", "what an agent delivered stands under its name");
  holds((await busy.innerText()).includes("of this agent"), "one with more than fits leads to all of its own");
  await grouped.getByRole("navigation", { name: "Agents with something open" }).getByRole("link", { name: /coder/ }).click();
  await grouped.waitForURL("**agent=coder**");
  same(await heads(grouped), ["Not this one"], "an agent is chosen from those with something open");
  await grouped.keyboard.press("j");
  await grouped.keyboard.press("x");
  holds(await grouped.locator(".row input").isChecked(), "keys work in groups as in the list");

  // Rates.
  await page.goto("/settings");
  await page.getByLabel("Rate of live keys").fill("1000/100");
  await page.locator("li[data-keys=live]").getByRole("button", { name: "Set this rate" }).click();
  await page.getByText("1000 an hour, 100 at once").waitFor();
  await page.getByRole("button", { name: "As WAKE has it" }).click();
  await page.getByText("500 an hour, 50 at once").waitFor();
  holds(true, "rates are set and taken back");

  // Erasing is for owners, and takes two steps.
  await grouped.goto(`/items/${id}`);
  await grouped.getByText("Well done").waitFor();
  same(await grouped.getByText("Erase").count(), 0, "who is no owner is not offered to erase");
  await page.goto(`/items/${id}`);
  const erase = page.getByRole("button", { name: "Erase it now" });
  holds(!(await erase.isVisible()), "nothing is erased by one click");
  await page.getByText("Erase its content").click();
  await erase.click();
  await page.getByText("Its content was erased.").waitFor();
  holds(!(await page.locator("main").innerText()).match(/Once there was content|Well done/), "erased content is gone from the page");
});
