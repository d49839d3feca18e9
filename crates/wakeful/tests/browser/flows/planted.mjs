// Another port of the same host can set and evict our cookies. Nobody becomes
// someone else by that.

import { api, deliver, eventually, given, holds } from "./browser.mjs";
import { inEither } from "./either.mjs";
import { choosePassword, comeByLink, signIn } from "./signing-in.mjs";
import { acts, place, Thief } from "./thief.mjs";

/** More cookies than a browser keeps for one host. */
const CROWD = 400;

const kinds = {
  replaced: (names, value) => names.map((name) => `${name}=${value(name)}; Path=/; Max-Age=3600; HttpOnly`),
  "set beside it": (names, value) => names.flatMap((name) => ["/items", "/api", "/you"].map((path) => `${name}=${value(name)}; Path=${path}; Max-Age=3600`)),
  evicted: (names) => names.map((name) => `${name}=; Path=/; Max-Age=0`),
  "crowded out, and replaced": (names, value) => [
    ...Array.from({ length: CROWD }, (_, at) => `crowd${at}=1; Path=/away; Max-Age=60`),
    ...names.map((name) => `${name}=${value(name)}; Path=/; Max-Age=3600`),
  ],
};

await inEither("planted", ["401", "403", "409", "Failed to load", "has been rejected"], async (window) => {
  const mallory = await window();
  await comeByLink(mallory, "mallory");
  const hers = await mallory.cookies();
  const value = (name) => (hers.find((cookie) => cookie.name === name) ?? hers[0]).value;
  const ann = await window();
  await comeByLink(ann, "ann");
  await choosePassword(ann);

  const thief = await Thief.listen();
  for (const [kind, set] of Object.entries(kinds)) {
    const before = await place();
    const [open, later, third] = [await deliver({ headline: "Open already" }), await deliver({ headline: "Opened later" }), await deliver({ headline: "In the list" })];
    const tab = await ann.tab();
    await tab.goto(`/items/${open}`);
    await tab.waitFor("the answers are there", () => document.querySelector('.verdicts button[value="approved"]'));
    const list = await ann.tab();
    await list.goto("/");
    await list.waitFor("the list is there", () => document.querySelector(".row"));

    // Whatever the browser sends there comes back as mallory's.
    thief.answer = ({ headers }) => {
      const names = (headers.cookie ?? "").split("; ").map((pair) => pair.split("=")[0]).filter((name) => name && !name.startsWith("crowd"));
      const every = [...new Set([...names, "wakeful", ...(given.tls ? ["__Host-wakeful"] : [])])];
      const lines = set(every, value).map((line) => (given.tls ? `${line}; Secure` : line));
      return { headers: { "set-cookie": lines }, body: "<!doctype html><title>Set</title>" };
    };
    await ann.goto(`${thief.address}/items/x`);

    // A page that was open before.
    const came = (where) => eventually("something has come of it", () => where.eval(() => document.querySelector(".standing, .fault, [role=alert], #toast, #note, #password")?.outerHTML).catch(() => null), 5_000).catch(() => null);
    await tab.click('.verdicts button[value="approved"]');
    await came(tab);
    await list.press("j", "a");
    await came(list);
    // Pages that are opened now.
    const said = [];
    for (const path of ["/", "/you", `/items/${later}`]) {
      await ann.goto(path);
      said.push([path, await ann.settled()]);
    }
    if (await ann.isVisible('.verdicts button[value="approved"]')) {
      await ann.click('.verdicts button[value="approved"]');
      await came(ann);
    }
    // A script with all that the pages keep; on a page that is not loaded again by itself.
    await ann.goto("/sign-in");
    for (const path of [`/api/v1/inbox/${later}/respond`, "/api/v1/me/token"]) {
      await ann.eval((path) => fetch(path, { method: "POST", headers: { "content-type": "application/json", ...Object.fromEntries(Object.values({ ...localStorage }).slice(0, 1).map((key) => ["wakeful-form", key])) }, body: '{"status":"approved"}' }).then(({ status }) => status, () => 0), path);
    }
    const done = await acts(before, "mallory");
    holds(done.length === 0, `nothing is done in another's name when the cookie is ${kind}`, done);
    for (const [path, text] of said) holds(!text.includes("mallory"), `${path.replace(later, "ID")} does not say that someone else is signed in when the cookie is ${kind}`, text.slice(0, 120));
    for (const id of [open, later, third]) {
      const { answered_by, by } = (await api("GET", `/api/v1/inbox/${id}`, given.watcher)).json();
      holds(![answered_by, by].includes("mallory"), `an answer of one's own does not go out as another's when the cookie is ${kind}`);
    }
    // Who is asked to sign in again can.
    for (const one of [tab, list]) await one.close();
    await ann.goto("/");
    await ann.settled();
    console.log(`after the cookie was ${kind} one is at ${new URL(await ann.url()).pathname}`);
    const theirs = ["/", "/items", "/api", "/you"];
    thief.answer = ({ headers }) => {
      const names = (headers.cookie ?? "").split("; ").map((pair) => pair.split("=")[0]).filter(Boolean);
      return { headers: { "set-cookie": names.flatMap((name) => theirs.map((path) => `${name}=; Path=${path}; Max-Age=0${given.tls ? "; Secure" : ""}`)) } };
    };
    for (const path of theirs) await ann.goto(thief.address + path);
    await signIn(ann, "ann");
    await ann.goto("/you");
    const heading = await ann.text("h1");
    holds(heading.startsWith("ann"), `and one can sign in again after the cookie was ${kind}`, heading);
  }
  await thief.close();
});
