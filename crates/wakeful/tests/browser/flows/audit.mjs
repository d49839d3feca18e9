// Every page in light and dark, narrow and wide: an audit by axe-core, 200 % zoom, no layout shift.

import { Audit } from "./axe.mjs";
import { api, deliver, eventually, fits, flow, given, PHONE, respond, same, WIDE } from "./browser.mjs";

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
  for (const [name, person] of [["lamp", "ann"], ["bobs lamp", "bob"]]) await api("POST", "/api/v1/agents", given.people[person].token, { agent_id: name });
  await respond(ids.done, "bob", { status: "redirected", feedback: "See the change.", edited_content: "After" });
  await api("POST", "/api/v1/trail/verification", given.people.ann.token);
  await eventually("the trail is verified", async () => (await api("GET", "/api/v1/trail/verification", given.people.ann.token)).json().last);

  const first = await stage.window({ as: "ann" });
  await first.goto("/");
  const places = await first.locator("header.top a[href^='/']").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const paths = [...new Set([
    ...places, "/?q=nothing-like-it", "/?snoozed=1", "/?type=update", "/?group=agent", "/connect", "/connect?agent=trial",
    "/agents/scout/prompt", "/trail/verify", "/trail?q=nothing-like-it", "/trail?type=delivery_received&from=2001-01-01",
    ...Object.values(ids).map((id) => `/items/${id}`), `/items/${ids.json}/raw`,
  ])];
  const strangers = ["/sign-in", new URL(given.link).pathname, "/sign-in/some-link", "/setup/some-link"];
  // Refusals are pages too.
  const refusals = { "/items/nothing-here": 404, "/agents/nobody/prompt": 404 };
  stage.guard.expect(401, 403, 404, 409, 422);

  /** Pages that are reached by a form, each with what brings one there. */
  const byForm = {
    "the review of many": async (page) => {
      await page.goto("/");
      await page.locator(`.row[data-id="${ids.json}"] input`).check();
      await page.locator("#many button").first().click();
      await page.getByRole("heading", { name: /^Approve th/ }).waitFor();
    },
    "what became of many": async (page) => {
      const gone = await deliver({ headline: "One of many" });
      await respond(gone, "bob", { status: "approved" });
      const waits = await deliver({ headline: "Another of many" });
      // What was ticked for the review is still ticked.
      await page.evaluate(() => sessionStorage.clear());
      await page.goto("/");
      await page.locator(`.row[data-id="${waits}"] input`).check();
      await page.locator("#list").evaluate((form, id) => {
        const late = Object.assign(document.createElement("input"), { type: "hidden", name: "id", value: id });
        const sure = Object.assign(document.createElement("input"), { type: "hidden", name: "confirmed", value: "yes" });
        form.append(late, sure);
      }, gone);
      await page.locator("#many button").first().click();
      await page.getByRole("heading", { name: "approved" }).waitFor();
      same(await page.locator(".row .fault").count(), 1, "what someone else has answered says so");
    },
    "an edit that is asked about": async (page) => {
      const asked = await deliver({ headline: "Edited", details: "as it was\u202e" });
      await page.goto(`/items/${asked}`);
      await page.getByText("Change it").click();
      await page.locator("#edited").fill("as it is\u202e");
      await page.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("alert").waitFor();
    },
    "a text that was not sent": async (page) => {
      const gone = await deliver({ headline: "Gone", details: "as it was" });
      await page.goto(`/items/${gone}`);
      await page.getByLabel("Feedback").fill("Too late");
      await page.getByText("Change it").click();
      await page.locator("#edited").fill("as it is");
      await respond(gone, "bob", { status: "approved" });
      await page.getByRole("button", { name: "Redirect" }).click();
      await page.getByRole("heading", { name: "Your text, not sent" }).waitFor();
    },
    "nothing chosen": async (page) => {
      await page.goto("/");
      await page.locator("#list").evaluate((form) => { form.noValidate = true; form.querySelector("#many button").click(); });
      await page.getByRole("heading", { name: "Nothing was chosen" }).waitFor();
    },
    "a form from elsewhere": async (page) => {
      await page.goto("/settings");
      await page.locator("main input[name=token]").first().evaluate((token) => { token.value = "wrong"; token.form.querySelector("button").click(); });
      await page.getByRole("heading", { name: "Not sent" }).waitFor();
    },
    "a change that is refused": async (page) => {
      await page.goto("/settings");
      await page.locator("#rate-live").evaluate((rate) => { rate.form.noValidate = true; rate.value = "many"; });
      await page.locator("li[data-keys=live] button").first().click();
      await page.getByRole("alert").waitFor();
    },
    "a device's new token": async (page) => {
      await page.goto("/agents");
      const lamp = page.locator('li[data-device="lamp"]');
      await lamp.getByText("Rotate…").click();
      await lamp.getByRole("button", { name: "Rotate it" }).click();
      await page.getByRole("heading", { name: "A new device token" }).waitFor();
    },
    "connecting an agent": async (page) => {
      await page.goto("/connect");
      await page.getByLabel("Agent id").fill("audited");
      await page.getByRole("button", { name: "Make a key" }).click();
      await page.locator("[data-waiting-for], .arrived").waitFor();
    },
  };

  const audits = new Audit();
  // In the dark only colours differ, and they are the same at every width.
  for (const [colorScheme, size] of [["light", WIDE], ["light", PHONE], ["dark", WIDE]]) {
    const only = colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {};
    const audit = (page, what) => audits.look(page, `${what}, ${colorScheme} at ${size.width} px`, only);
    const signed = await stage.window({ as: "ann", size, colorScheme, bypassCSP: true });
    for (const path of paths) {
      await signed.goto(path);
      await audit(signed, path);
    }
    for (const [path, status] of Object.entries(refusals)) {
      same((await signed.goto(path)).status(), status, `${path} is refused, ${colorScheme} at ${size.width} px`);
      await audit(signed, path);
    }
    for (const [what, reach] of Object.entries(byForm)) {
      await reach(signed);
      await signed.locator("main details").evaluateAll((parts) => { for (const part of parts) part.open = true; });
      await audit(signed, what);
    }
    await signed.goto("/");
    await signed.keyboard.press("?");
    await signed.getByRole("dialog").waitFor();
    await audit(signed, "the help");
    const stranger = await stage.window({ size, colorScheme, bypassCSP: true });
    for (const path of strangers) {
      await stranger.goto(path);
      await audit(stranger, path);
    }
    const reviewer = await stage.window({ as: "bob", size, colorScheme, bypassCSP: true });
    same((await reviewer.goto("/settings")).status(), 403, `a reviewer is told that it is not theirs, ${colorScheme} at ${size.width} px`);
    await audit(reviewer, "a page of owners");
    await reviewer.context().close();
    await signed.context().close();
    await stranger.context().close();
  }
  const each = paths.length + strangers.length + Object.keys(refusals).length + Object.keys(byForm).length;
  // And the help, and what a reviewer may not open.
  audits.end(3 * (each + 2));

  // 200 % on a screen of 1280, and the narrowest that WCAG asks for: nothing is
  // cut off, and nothing moves while a page loads, nor by itself.
  const shown = [...paths, ...strangers, ...Object.keys(refusals)];
  for (const [what, options] of [["wide", { size: WIDE }], ["at 200 %", { size: { width: 640, height: 400 }, deviceScaleFactor: 2 }], ["at 320 px", { size: { width: 320, height: 640 } }]]) {
    const page = await stage.window({ as: "ann", reducedMotion: "reduce", ...options });
    await page.addInitScript(() => {
      window.shifts = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts.push([entry.value, entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 80))]);
      }).observe({ type: "layout-shift", buffered: true });
    });
    const calm = async (path) => {
      const shifts = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(window.shifts)))));
      same(shifts, [], `nothing shifts while ${path} loads, ${what}`);
      await fits(page, `${path} needs no scrolling sideways, ${what}`);
    };
    for (const path of shown) {
      await page.goto(path);
      await calm(path);
    }
    for (const [path, reach] of Object.entries(byForm)) {
      await reach(page);
      await calm(path);
    }
    const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((one) => {
      const style = getComputedStyle(one);
      return style.animationName !== "none" || style.transitionDuration.split(", ").some((time) => time !== "0s");
    }).length);
    same(moving, 0, `who wants less motion gets none, ${what}`);
    await page.context().close();
  }
});
