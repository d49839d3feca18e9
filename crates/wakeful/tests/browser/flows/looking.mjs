// The list and the item, with the mouse.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { deliver, eventually, fits, flow, given, heads, holds, PHONE, respond, row, same, WIDE } from "./browser.mjs";

const markdown = `# Findings

Ten competitors, **two** of them new. See [the list](https://example.org/list).

| name | price |
| --- | --- |
| Acorn | 12 |
| Birch | 15 |

\`\`\`rust
fn main() { let answer = 42; } // done
\`\`\`
`;
const diff = `--- a/greeting.txt
+++ b/greeting.txt
@@ -1,2 +1,2 @@
 Dear reader,
-we are sory.
+we are sorry.
`;

await flow("looking", async (stage) => {
  const item = {
    output: await deliver({ headline: "Competitors compared", details: markdown, details_format: "markdown" }),
    update: await deliver({ type: "update", headline: "Half way there" }),
    question: await deliver({ type: "question", headline: "Which market first?", details: { options: ["north", "south"], budget: 12.50 } }, "coder"),
    alert: await deliver({ type: "alert", headline: "Disk nearly full", timeout_seconds: 1830 }),
    change: await deliver({ headline: "Spelling mended", details: diff, details_format: "diff" }, "coder"),
    trial: await deliver({ headline: "Only a trial" }, "trial"),
    done: await deliver({ headline: "Settled already" }),
  };
  await respond(item.done, "bob", { status: "approved", feedback: "Well done." });

  for (const size of [WIDE, PHONE]) {
    const page = await stage.window({ as: size === WIDE ? "ann" : "bob", size });
    const at = `at ${size.width} px`;
    await page.goto("/");
    same(await page.locator("#list h2").allInnerTexts(), ["Alerts", "Questions", "Work to look at", "Updates"], `alerts come first, then questions, work and updates, ${at}`);
    same(await heads(page), ["Disk nearly full", "Which market first?", "Only a trial", "Spelling mended", "Competitors compared"],
      `each section shows its own, the newest first, and what is answered is gone, ${at}`);
    holds(!(await row(page, item.update).isVisible()), `updates are folded, ${at}`);
    await page.locator("details.update summary").click();
    holds(await row(page, item.update).isVisible(), `updates unfold, ${at}`);
    same(await row(page, item.trial).locator(".mark").allInnerTexts(), ["test"], `a test delivery is marked, ${at}`);
    await fits(page, `the list fits the window, ${at}`);

    // Time goes by.
    const later = await page.context().newPage();
    await later.clock.install();
    await later.goto("/");
    const about = row(later, item.alert).locator(".about");
    holds(/agent goes on in (30|29) min/.test(await about.innerText()), `a row says when its agent goes on, if that is soon, ${at}`, await about.innerText());
    const places = () => later.locator(".row").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().toJSON()));
    const before = await places();
    await later.clock.fastForward("12:00");
    await later.clock.runFor(6000);
    holds(/agent goes on in (18|17) min/.test(await about.innerText()) && /1[23] min ago$/.test(await about.innerText()), `and goes on saying so as time goes by, ${at}`, await about.innerText());
    same(await places(), before, `and nothing moves, ${at}`);
    await later.close();

    // Unread.
    holds(await row(page, item.output).locator(".dot").count() === 1, `what was not opened has a dot, ${at}`);
    await row(page, item.output).locator(".head").click();
    await page.locator("h1", { hasText: "Competitors compared" }).waitFor();

    // The item, by what it holds.
    same(await page.locator(".details .markdown :is(h1, h2, h3, h4)").first().innerText(), "Findings", `Markdown is shown as such, ${at}`);
    same(await page.locator(".details strong").innerText(), "two", `with emphasis, ${at}`);
    same(await page.locator(".details td").allInnerTexts(), ["Acorn", "12", "Birch", "15"], `and tables, ${at}`);
    holds(await page.locator(".details pre.code .k").count() > 0, `and code in colours, ${at}`);
    holds((await page.locator(".details .markdown").innerText()).includes("example.org"), `a link says where it leads, ${at}`);
    await fits(page, `an item fits the window, ${at}`);
    await page.goto("/");
    holds(await row(page, item.output).locator(".dot").count() === 0, `the dot goes once it is opened, ${at}`);

    await page.goto(`/items/${item.question}`);
    const tree = page.locator(".details .json");
    same(await tree.locator(".key").allInnerTexts(), ["options", "budget"], `JSON is shown as a tree, ${at}`);
    same(await tree.locator(".number").last().innerText(), "12.5", `with its values, ${at}`);
    const inner = tree.locator("details").last();
    const open = await inner.getAttribute("open");
    await inner.locator("summary").first().click();
    holds((await inner.getAttribute("open")) !== open, `its branches fold, ${at}`);
    const closed = () => tree.locator("details:not([open])").count();
    await page.getByRole("button", { name: "Open or close all" }).click();
    holds((await closed()) === 0, `one button opens all of them, ${at}`);
    await page.locator("h1").click();
    await page.keyboard.press("o");
    holds((await tree.locator("details[open]").count()) === 0 && (await closed()) > 0, `and one key closes them, ${at}`);
    await page.goto(`/items/${item.change}`);
    same(await page.locator(".details tr.del .line:visible").first().textContent(), "removed: we are sory.", `a diff shows what goes, ${at}`);
    same(await page.locator(".details tr.add .line:visible").first().textContent(), "added: we are sorry.", `and what comes, ${at}`);
    await fits(page, `a diff fits the window, ${at}`);
    await page.getByRole("link", { name: "As it was sent" }).click();
    await page.waitForURL("**/raw");
    holds((await page.locator("main pre").innerText()).includes("we are sory."), `the raw form is one click away, ${at}`);
    await page.goto(`/items/${item.alert}`);
    holds((await page.locator(".item").innerText()).match(/goes on without an answer in (30|29) min\./), `an item says when its agent moves on, ${at}`);

    // Filters and search.
    await page.goto("/");
    await page.getByLabel("Agent").selectOption("coder");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL("**agent=coder**");
    same(await heads(page), ["Which market first?", "Spelling mended"], `the list narrows to one agent, ${at}`);
    await page.getByLabel("Type").selectOption("question");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL("**type=question**");
    same(await heads(page), ["Which market first?"], `and to one type, ${at}`);
    await page.getByRole("link", { name: "All", exact: true }).click();
    await page.waitForURL((url) => url.search === "");
    await eventually("the search finds a word in the details", async () => {
      await page.getByLabel("Search").fill("competitors");
      await page.getByLabel("Search").press("Enter");
      await page.waitForURL("**q=competitors**");
      return (await heads(page)).join() === "Competitors compared";
    });
    holds(true, `a search finds what was delivered, ${at}`);

    // Done.
    await page.getByRole("link", { name: "Done" }).click();
    await page.waitForURL("**/done");
    same(await heads(page), ["Settled already"], `what is answered is under Done, ${at}`);
    same(await row(page, item.done).locator(".mark").allInnerTexts(), ["approved by bob"], `with who answered and what, ${at}`);
    await row(page, item.done).locator(".head").click();
    await page.locator(".standing").waitFor();
    holds((await page.locator(".standing").innerText()).includes("Well done."), `a finished item shows the feedback, ${at}`);
    const history = await page.locator(".history .event").allInnerTexts();
    holds(history.includes("delivery received") && history.includes("delivery answered"), `and its history, ${at}`, history);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Receipt" }).click()]);
    const file = join(given.data, `receipt-${size.width}.json`);
    await download.saveAs(file);
    const said = execFileSync(given.wakeful, ["trail", "verify", file, "--key", given.trail_key], { encoding: "utf8" });
    holds(true, `its receipt downloads and verifies with the log's key alone, ${at}`, said);
  }
});
