// Someone takes our port and passes on to us, who are elsewhere now, what they
// are asked. A page that is open does not take them for us.

import { ask, deliver, eventually, given, holds } from "./browser.mjs";
import { inEither } from "./either.mjs";
import { choosePassword, comeByLink } from "./signing-in.mjs";
import { secrets, send, Thief } from "./thief.mjs";

const HELD_MS = 8_000;
const OF_ONE_CONNECTION = ["connection", "transfer-encoding", "content-length", "keep-alive"];

await inEither("relayed", ["Failed to load", "ERR_", "NetworkError", "CORS", "TypeError", "was interrupted", "401", "403"], async (window) => {
  const ann = await window();
  await comeByLink(ann, "ann");
  await choosePassword(ann);
  await ann.goto("/");
  await deliver({ headline: "Before it" });
  await ann.waitFor("the page hears what comes", () => document.querySelector(".row") || document.querySelector("#fresh")?.checkVisibility());
  const known = [...secrets(await ann.kept()), ...(await ann.cookies()).map(({ value }) => value)];
  const { address } = await ask("move the server");
  const began = Date.now();
  const thief = await Thief.listen({
    port: Number(new URL(given.address).port),
    tls: null,
    answer: async ({ method, path, headers, body }) => {
      if (path.startsWith("/api/v1/events")) return { status: 503 };
      const { status, headers: given, text } = await send(method, address + path, { ...headers, host: new URL(address).host }, body);
      return { status, headers: Object.fromEntries(Object.entries(given).filter(([name]) => !OF_ONE_CONNECTION.includes(name))), body: text };
    },
  });
  await eventually("they have held the port for a while", () => Date.now() - began > HELD_MS);
  console.log(`whoever holds the port was asked for: ${thief.requests.map(({ method, path }) => `${method} ${path.split("?")[0]}`).join(", ") || "nothing"}`);
  holds(!thief.requests.some(({ headers }) => headers.cookie || headers["wakeful-form"]), "whoever passes on our proof gets no cookie and no key");
  holds(!known.some((secret) => thief.received.includes(secret)), "nor anything else that a page or a browser keeps");
  await thief.close();
});
