// A page of another port sets someone else's cookie and leads into our pages, by
// an address that has their page key in it. Nobody becomes someone else by that.

import { given, holds } from "./browser.mjs";
import { inEither } from "./either.mjs";
import { choosePassword, comeByLink } from "./signing-in.mjs";
import { Thief } from "./thief.mjs";

await inEither("led-in", ["401", "403", "Failed to load"], async (window) => {
  const mallory = await window();
  await comeByLink(mallory, "mallory");
  const cookies = await mallory.cookies();
  // Where there are no scripts the key is in the address, else in the storage.
  const key = mallory.prefix.slice(2) || (await mallory.kept()).find((text) => /^[0-9a-f]{64}$/.test(text)) || "0".repeat(64);
  const ann = await window();
  await comeByLink(ann, "ann");
  await choosePassword(ann);
  const thief = await Thief.listen();
  const secure = given.tls ? "; Secure" : "";
  thief.answer = ({ path }) => ({
    headers: { "set-cookie": cookies.map(({ name, value }) => `${name}=${value}; Path=/; Max-Age=3600${secure}`) },
    body: `<!doctype html><title>A report</title><a id="on" href="${given.address}${decodeURIComponent(path.slice(2))}">On</a>`,
  });
  for (const path of [`/~${key}/`, `/~${key}/you`, "/you", `/sign-in?next=/~${key}/you`]) {
    await ann.goto(`${thief.address}/?${encodeURIComponent(path)}`);
    await ann.click("#on");
    await ann.waitFor("one of our pages is there", (to) => location.origin === to && document.readyState === "complete", new URL(given.address).origin);
    const text = await ann.settled();
    if (given.plain && path === "/you") {
      // Without scripts a plain address tells no two people apart: there one only reads, and is told so.
      holds(text.includes("This page can only be read"), "without scripts a page without a key says that it can only be read", text.slice(0, 120));
      continue;
    }
    holds(!text.includes("mallory"), `nobody is led in as someone else by ${path.replace(key, "KEY")}`, text.slice(0, 120));
    if (given.plain) await ann.visit("/");
    else await ann.goto("/");
    const after = await ann.settled();
    holds(!after.includes("mallory"), `nor is afterwards, by ${path.replace(key, "KEY")}`, after.slice(0, 120));
  }
  await thief.close();
});
