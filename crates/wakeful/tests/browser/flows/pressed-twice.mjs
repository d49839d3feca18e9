// A verdict that cannot be taken as it is: the keyboard leads on from there.

import { deliver, final, flow, holds, respond, response, same, settled } from "./browser.mjs";

await flow("pressed-twice", async (stage) => {
  stage.guard.expect(409, 422);
  const page = await stage.window({ as: "ann" });
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  const path = () => new URL(page.url()).pathname;
  const toast = page.locator("#toast");
  const last = await deliver({ headline: "The last" });
  const open = async (headline, more = {}) => {
    const id = await deliver({ headline, details: "Dear reader", ...more });
    await page.goto("/");
    await press("j", "Enter");
    await page.waitForURL(`**/items/${id}`);
    return id;
  };
  /** Changes the content, and leaves the editor. */
  const change = async () => {
    await press("e");
    await page.keyboard.type("Changed. ");
    await press("Escape");
  };
  const asked = async (words) => {
    await toast.getByText(words).waitFor();
    holds((await toast.innerText()).startsWith("You changed the content"), `one is asked, and told which key does what: ${words}`, await toast.innerText());
  };

  // One's own change: asked once, the same key leaves it out.
  for (const [key, status] of [["a", "approved"], ["r", "rejected"]]) {
    const id = await open(`Changed, then ${key} twice`);
    await change();
    await press(key);
    await asked(`${key} ${status === "approved" ? "approves" : "rejects"} it as delivered`);
    same([path(), (await response(id)).status], [`/items/${id}`, "pending"], `${key} once answers nothing and asks`);
    await press(key);
    await page.waitForURL(`**/items/${last}`);
    const told = await final(id);
    same([told.status, told.edited_content ?? null], [status, null], `${key} twice answers it as delivered, and leads to the next`);
  }

  // Enter sends the change.
  const sent = await open("Changed, then Enter");
  await change();
  await press("a");
  await asked("Enter sends yours");
  await press("Enter");
  await page.locator(".standing[data-until]").waitFor();
  const told = await final(sent);
  same([told.status, told.edited_content], ["redirected", "Changed. Dear reader"], "Enter sends the change");
  await settled(page);

  // Another verdict asks anew.
  const other = await open("Changed, then a and r");
  await change();
  await press("a");
  await asked("a approves");
  await press("r");
  await asked("r rejects");
  same((await response(other)).status, "pending", "another verdict asks anew");
  await press("r");
  await page.waitForURL(`**/items/${last}`);
  same((await final(other)).status, "rejected", "and is taken then");

  // Somebody else's answer, of which the page has not heard.
  await page.route("**/api/v1/events", (route) => route.abort());
  stage.guard.expect("net::ERR_");
  const late = await open("Answered meanwhile");
  await respond(late, "bob", { status: "rejected" });
  for (const time of ["first", "second"]) {
    await page.evaluate(() => document.querySelector("#toast")?.remove());
    await press("a");
    await toast.getByText("j leads to the next").waitFor();
    holds((await toast.innerText()).includes("bob rejected this"), `a says the ${time} time who was first, and how to go on`, await toast.innerText());
  }
  same(await page.evaluate(() => document.activeElement.className), "next", "and the way on has the focus");
  await press("Enter");
  await page.waitForURL(`**/items/${last}`);
  holds(true, "so that Enter leads to the next");
  await page.unroute("**/api/v1/events");

  // The same where the page says already that it is answered.
  await page.goto(`/items/${late}`);
  await press("a");
  await toast.getByText("j leads to the next").waitFor();
  holds(/No answer is taken here: rejected by bob .* ago\./.test(await toast.innerText()), "on an answered item a says why nothing happens", await toast.innerText());
  await press("j");
  await page.waitForURL(`**/items/${last}`);
  holds(true, "and j leads to the next");

  // What the page says about a long text is no refusal.
  const long = await open("Long", { details: "A line of it.\n".repeat(30_000) });
  await press("a");
  await page.waitForURL(`**/items/${last}`);
  await toast.getByText("Approved: Long").waitFor();
  same((await final(long)).status, "approved", "a long item is answered by one key, and that is what one is told");
});
