// Someone takes our port while we are down. A page that is open sends them
// nothing to act with, says that there is no connection, and goes on by itself
// when we are back.

import { ask, deliver, eventually, final, given, holds, same } from "./browser.mjs";
import { inEither } from "./either.mjs";
import { choosePassword, comeByLink, signIn, signOut } from "./signing-in.mjs";
import { secrets, Thief } from "./thief.mjs";

/** So long they hold the port before anyone touches the page: several tries of it. */
const HELD_MS = 6_000;
const AT_ONCE_MS = 3_000;
/** There is none, or someone else answers. */
const WORDS = /^(No connection\. Trying again…|Another program answers at this address\.)/;

/** As a server that would like to be taken for ours. */
const pretends = [
  { headers: { "content-type": "text/event-stream" }, body: "id: 1@00000000\n\n" },
  { headers: { "content-type": "application/json" }, body: '{"proof":"","signature":"","key":"","status":"ok"}' },
  { status: 401, headers: { "content-type": "application/problem+json" }, body: '{"status":401,"code":"unauthenticated"}' },
  { body: "<!doctype html><title>Inbox · Wakeful</title><p>Sign in" },
  { status: 204 },
  { status: 503 },
];

await inEither("taken", ["Failed to load", "ERR_", "NetworkError", "CORS", "Cross-Origin", "TypeError", "can’t establish", "401", "503", "was interrupted"], async (window) => {
  const ann = await window();
  await comeByLink(ann, "ann");
  await choosePassword(ann);
  await signOut(ann);
  await signIn(ann, "ann");
  const [item, first] = [await deliver({ headline: "The item" }), await deliver({ headline: "The first" })];
  await ann.goto("/");
  const tab = await ann.tab();
  await tab.goto(`/items/${item}`);
  await deliver({ headline: "Before it" });
  await ann.waitFor("the page hears what comes", () => document.querySelector("#fresh")?.checkVisibility());
  const known = [...secrets(await ann.kept()), ...(await ann.cookies()).map(({ value }) => value)];
  const tokens = await tab.look(() => [...document.querySelectorAll('[name="token"], [name="form-token"]')].map((one) => one.value ?? one.content).filter(Boolean));

  await ask("kill the server");
  const at = Date.now();
  let turn = 0;
  const thief = await Thief.listen({ port: Number(new URL(given.address).port), answer: () => pretends[(turn += 1) % pretends.length] });
  const line = (page) => eventually("a lost connection is shown", () => page.eval(() => {
    const line = document.querySelector("#connection");
    return line?.checkVisibility() && line.innerText;
  }), AT_ONCE_MS).catch(() => "");
  const shown = await Promise.all([ann, tab].map(line));
  await eventually("they have held the port for a while", () => Date.now() - at > HELD_MS);
  console.log(`whoever holds the port was asked for: ${thief.requests.map(({ method, path }) => `${method} ${path}`).join(", ") || "nothing"}`);
  const nothing = (when) => {
    holds(!thief.requests.some(({ headers }) => headers.cookie), `whoever takes the port gets no cookie, ${when}`, thief.requests.find(({ headers }) => headers.cookie)?.path);
    holds(!thief.requests.some(({ headers }) => headers["wakeful-form"] || headers.authorization), `nor a header with a key, ${when}`);
    holds(![...known, ...tokens].some((secret) => thief.received.includes(secret)), `nor anything else that a page or a browser keeps, ${when}`);
  };
  nothing("while nobody touches the page");
  holds(shown.every((words) => WORDS.test(words)), "that the connection is lost is shown at once, in the list and on the item", shown);
  for (const page of [ann, tab]) holds(await page.isVisible("#connection"), "and still is while someone else answers");

  // Someone who does not notice goes on.
  await ann.press("j", "a");
  await tab.press("f");
  await tab.fill("#feedback", "All is well");
  await tab.press("Escape");
  await tab.click('.verdicts button[value="approved"]');
  await tab.press("a");
  await ann.waitFor("one is told that nothing was sent", () => document.querySelector("#toast")?.innerText.includes("Not sent"));
  nothing("though one answers");
  const [before, asked] = [thief.requests.length, Date.now()];
  await eventually("the page has tried again", () => thief.requests.length > before || Date.now() - asked > HELD_MS);
  nothing("and afterwards");
  same(await tab.look(() => document.querySelector("#feedback")?.value), "All is well", "what was written is still there");

  // We are back.
  await thief.close();
  await ask("start the server");
  const fresh = await deliver({ headline: "We are back", type: "alert" });
  await ann.waitFor("what is delivered then is told", (id) => document.querySelector("#fresh")?.checkVisibility() || document.querySelector(`.row[data-id="${id}"]`), fresh);
  for (const page of [ann, tab]) await page.waitFor("the line is gone", () => !document.querySelector("#connection")?.checkVisibility());
  holds(true, "when we are back the page is live again by itself");
  await tab.click('.verdicts button[value="approved"]');
  const told = await final(item);
  same([told.status, told.feedback], ["approved", "All is well"], "and an answer on a page that was open all the time works");
  await ann.goto(`/items/${first}`);
  await ann.click('.verdicts button[value="rejected"]');
  same((await final(first)).status, "rejected", "as it does on any other");
});
