// A link in a delivery leads to the agent's own server, on another port of the
// same host. Cookies go there too: nothing that goes there is enough to act. With
// scripts, and without.

import { deliver, final, given, holds, response, same } from "./browser.mjs";
import { inEither } from "./either.mjs";
import { choosePassword, comeByLink, signIn, signOut } from "./signing-in.mjs";
import { place, rob, secrets, send, Thief, untouched } from "./thief.mjs";

/** Where a browser would take its session besides the paths that pages link to. */
const PATHS = ["/", "/you", "/sign-in", "/people", "/api/v1/inbox", "/api/v1/me/token", "/assets/x", "/items/", "/answers"];

// The agent's pages are not ours, and may be as noisy as they like.
const NOISE = ["Failed to load", "CORS", "Cross-Origin", "cross-origin", "NetworkError", "TypeError", "403"];

await inEither("elsewhere", NOISE, async (window) => {
  const thief = await Thief.listen();
  const ann = await window();
  await comeByLink(ann, "ann");
  await choosePassword(ann);
  await signOut(ann);
  for (const way of ["by a link", "with a password"]) {
    const signed = `signed in ${way}`;
    if (way === "by a link") await comeByLink(ann, "ann");
    else await signIn(ann, "ann");

    // A plain address opens, and an answer given there works.
    const plain = await deliver({ headline: "A plain address" });
    await ann.visit(`/items/${plain}`);
    same(await ann.text("h1"), "A plain address", `an item's plain address opens, ${signed}`);
    await ann.click('.verdicts button[value="approved"]');
    same((await final(plain)).status, "approved", `and an answer that is given there works, ${signed}`);

    // What must not be known elsewhere.
    const kept = secrets([ann.prefix, ...(await ann.kept())]);
    const cookies = (await ann.cookies()).map(({ value }) => value);
    console.log(`the browser keeps ${kept.length} secrets for the pages and ${cookies.length} cookies`);

    // She follows the link.
    const url = `${thief.address}/report`;
    const id = await deliver({ headline: "Read my report", details: `Here: [the report](${url}) <${url}>`, details_format: "markdown" });
    const before = await place();
    await ann.visit(`/items/${id}`);
    await ann.waitFor("the item is there", () => document.querySelector("#details"));
    const linked = await ann.look(() => [...document.querySelectorAll("a[href], form[action]")].map((one) => new URL(one.getAttribute("href") ?? one.getAttribute("action"), location.href).pathname));
    const clickable = await ann.eval((url) => {
      const link = document.querySelector(`a[href="${url}"]`);
      link?.removeAttribute("target");
      return Boolean(link);
    }, url);
    if (clickable) await ann.click(`a[href="${url}"]`);
    else await ann.eval((url) => { location.href = url; }, url);
    await ann.waitFor("the agent's page is there", (url) => location.href === url && document.readyState === "complete", url);
    const seen = await ann.look(() => [document.referrer, document.cookie, window.name, ...Object.values({ ...localStorage, ...sessionStorage })]);
    // Its page has the browser come to each path, and she goes to some herself.
    const paths = [...new Set([...PATHS, `/items/${id}`, `/items/${id}/answer`, ...linked])];
    if (given.plain) for (const path of paths) await ann.goto(thief.address + path.replace(ann.prefix, ""));
    else await ann.eval((paths) => Promise.all(paths.flatMap((path) => ["GET", "POST"].map((method) => fetch(path, { method, credentials: "include" })))).then(() => true), paths);
    for (const path of ["/", `/items/${id}`, "/sign-in"]) await ann.goto(thief.address + path);

    // With all that, the agent asks our server.
    const { read, keys } = await rob(id, thief.cookies, secrets([thief.received, ...seen]));
    console.log(`with a cookie alone, ${signed}, an agent reads: ${read.join(" ") || "nothing"}`);
    await untouched(before, `with all that a browser sends to another port nothing is answered, and no token, link, session, person or key is made, ${signed}`);

    // And has its page, in her browser, ask our server.
    if (!given.plain) {
      await ann.goto(`${thief.address}/`);
      await ann.eval((to, id, keys) => Promise.all(keys.flatMap((token) => ["cors", "no-cors"].flatMap((mode) => [
        fetch(`${to}/items/${id}/answer`, { method: "POST", mode, credentials: "include", body: new URLSearchParams({ token, status: "approved" }) }),
        fetch(`${to}/api/v1/inbox/${id}/respond`, { method: "POST", mode, credentials: "include", headers: mode === "cors" ? { "wakeful-form": token } : {}, body: '{"status":"approved"}' }),
        fetch(`${to}/api/v1/me/token`, { method: "POST", mode, credentials: "include" }),
      ].map((sent) => sent.then(() => true, () => false))))).then(() => true), given.address, id, [...keys.slice(0, 10), ""]);
      await ann.eval((to, id, token) => {
        const form = document.body.appendChild(document.createElement("form"));
        Object.assign(form, { method: "post", action: `${to}/items/${id}/answer` });
        for (const [name, value] of Object.entries({ token, status: "approved" })) form.append(Object.assign(document.createElement("input"), { name, value }));
        form.submit();
      }, given.address, id, keys.at(-1) ?? "");
      await ann.waitFor("our server has answered", (to) => location.href.startsWith(to) && document.readyState === "complete", given.address);
    }
    await untouched(before, `nor by a page of the agent in her browser, ${signed}`);
    same((await response(id)).status, "pending", `the delivery still waits, ${signed}`);

    // Nothing unguessable is known elsewhere.
    const told = [thief.received, ...seen].join("\n");
    holds(!kept.some((secret) => told.includes(secret)), `nothing that the pages keep reaches another port, by referrer or otherwise, ${signed}`);
    const referrers = thief.requests.map(({ headers }) => headers.referer ?? "").filter((from) => from && !from.startsWith(thief.address));
    same([seen[0], referrers], ["", []], `no page of ours is named as where one comes from, ${signed}`);
    const strangers = [...PATHS, `/items/${id}`, "/agents/scout/prompt", "/connect", "/next", "/setup/x", "/sign-in/x", "/~x/", `/~x/items/${id}`, "/api/v1/events"];
    for (const path of strangers) {
      const answer = await send("GET", given.address + path);
      const text = JSON.stringify(answer.headers) + answer.text;
      holds(![...kept, ...cookies].some((secret) => text.includes(secret)), `a stranger who asks for ${path} is told nothing of a session, ${signed}`);
    }
    for (const path of ["/agents/scout/prompt", "/connect", "/", `/items/${id}`, "/you"]) {
      await ann.visit(path);
      // Without scripts the way through the house is itself the key.
      const shown = await ann.look((plain) => [document.body.innerText, ...(plain ? [] : [location.href, ...[...document.querySelectorAll("[href], [action], [src]")].map((one) => one.href ?? one.action ?? one.src)])].join("\n"), Boolean(given.plain));
      holds(![...kept, ...cookies].some((secret) => shown.includes(secret)), `${path} shows nothing of a session that one could pass on, ${signed}`);
    }
    await signOut(ann);
    thief.requests.length = 0;
  }
  await thief.close();
});
