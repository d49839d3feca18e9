// Every page in light and dark, narrow and wide: an audit by axe-core, 200 % zoom, no layout shift.

import { axeSource, deliver, fits, flow, holds, PHONE, respond, same, WIDE } from "./browser.mjs";

const markdown = "# Title\n\n- a\n- b\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\ndef f(): return 1  # one\n```\n\n> quoted [link](https://example.org)\n\n" + "word ".repeat(200);
const diff = "--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new(\"" + "wide ".repeat(60) + "\");\n }\n";

await flow("audit", async (stage) => {
  const ids = {
    markdown: await deliver({ headline: "Markdown", details: markdown, details_format: "markdown", timeout_seconds: 3600 }),
    json: await deliver({ type: "question", headline: "An object", details: { a: [1, { b: null }], text: "x".repeat(300), ok: true } }),
    diff: await deliver({ type: "alert", headline: "A diff", details: diff, details_format: "diff" }),
    text: await deliver({ type: "update", headline: "Plain \u202e text", details: "Line\n".repeat(40) }, "trial"),
    done: await deliver({ headline: "Done", details: "Before" }),
  };
  await respond(ids.done, "bob", { status: "redirected", feedback: "See the change.", edited_content: "After" });

  const first = await stage.window({ as: "ann" });
  await first.goto("/");
  const places = await first.locator("header.top a[href^='/']").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const paths = [...new Set([
    ...places, "/?q=nothing-like-it", "/?snoozed=1", "/?type=update",
    ...Object.values(ids).map((id) => `/items/${id}`), `/items/${ids.json}/raw`, `/items/${ids.json}?fault=Not+so.`,
  ])];
  const strangers = ["/sign-in", "/sign-in/some-link"];

  /** Pages that are reached by a form. */
  async function review(page) {
    await page.goto("/");
    await page.locator(`.row[data-id="${ids.json}"] input`).check();
    await page.locator("#many button").first().click();
    await page.getByRole("heading", { name: "Approve these?" }).waitFor();
  }

  // Axe brings its own style, which the page's policy would rightly refuse.
  const source = axeSource();
  const found = [];
  let audited = 0;
  for (const colorScheme of ["light", "dark"]) {
    for (const size of [WIDE, PHONE]) {
      const audit = async (page, what) => {
        await page.evaluate(source);
        // In the dark only colours differ.
        const only = colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {};
        const { violations } = await page.evaluate((only) => axe.run(document, { resultTypes: ["violations"], ...only }), only);
        const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        const told = bad.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
        found.push(...told.map((one) => `${what}, ${colorScheme} at ${size.width} px: ${one}`));
        audited += 1;
      };
      const signed = await stage.window({ as: "ann", size, colorScheme, bypassCSP: true });
      for (const path of paths) {
        await signed.goto(path);
        await audit(signed, path);
      }
      await review(signed);
      await audit(signed, "the review of many");
      await signed.goto("/");
      await signed.keyboard.press("?");
      await signed.getByRole("dialog").waitFor();
      await audit(signed, "the help");
      const stranger = await stage.window({ size, colorScheme, bypassCSP: true });
      for (const path of strangers) {
        await stranger.goto(path);
        await audit(stranger, path);
      }
      await signed.context().close();
      await stranger.context().close();
    }
  }
  for (const one of found) console.error(one);
  holds(found.length === 0 && audited === 4 * (paths.length + 4), `${audited} audits find nothing serious`, found.length);

  // 200 % on a screen of 1280.
  const zoomed = await stage.window({ as: "ann", size: { width: 640, height: 400 }, deviceScaleFactor: 2 });
  const narrow = await stage.window({ as: "ann", size: { width: 320, height: 640 } });
  for (const path of paths) {
    await zoomed.goto(path);
    await fits(zoomed, `${path} needs no scrolling sideways at 200 %`);
    await narrow.goto(path);
    await fits(narrow, `${path} needs none at 320 px`);
  }

  // Nothing moves while a page loads, nor by itself.
  for (const size of [WIDE, PHONE]) {
    const page = await stage.window({ as: "ann", size, reducedMotion: "reduce" });
    await page.addInitScript(() => {
      window.shifts = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts.push([entry.value, entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 80))]);
      }).observe({ type: "layout-shift", buffered: true });
    });
    for (const path of paths) {
      await page.goto(path);
      const shifts = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(window.shifts)))));
      same(shifts, [], `nothing shifts while ${path} loads, at ${size.width} px`);
    }
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => {
      const style = getComputedStyle(one);
      return style.animationName !== "none" || style.transitionDuration.split(", ").some((time) => time !== "0s");
    }).length);
    same(moving, 0, `who wants less motion gets none, at ${size.width} px`);
  }
});
