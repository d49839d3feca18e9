// The setup link, a one-time link, a password, sessions, and where `next` may lead.

import { Audit } from "./axe.mjs";
import { ask, fits, flow, given, holds, PHONE, same, WIDE } from "./browser.mjs";

const path = (page) => new URL(page.url()).pathname;
const first = "correct horse battery";
const bobs = "a quiet place to work";

async function signIn(page, name, password) {
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Password").fill(password);
  await Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Sign in" }).click()]);
}

async function signOut(page) {
  await page.goto("/you");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/sign-in");
}

await flow("coming-in", async (stage) => {
  const ann = await stage.window();
  await ann.goto("/");
  holds(path(ann) === "/sign-in", "whoever is not signed in is asked to sign in");
  const nobody = await ann.locator("main").innerText();
  holds(nobody.includes("has no owner yet") && nobody.includes("the link that the server printed") && nobody.includes("wakeful user create NAME"), "and told how to make the first owner while there is none", nobody);
  same(await ann.locator("form").count(), 0, "where nobody can sign in nothing is to be filled in");

  // The page that only the first person sees.
  const audits = new Audit();
  for (const colorScheme of ["light", "dark"]) {
    for (const size of [WIDE, PHONE, { width: 640, height: 400 }]) {
      const page = await stage.window({ size, colorScheme, bypassCSP: true });
      await page.goto(given.setup);
      await audits.look(page, `the setup page, ${colorScheme} at ${size.width} px`);
      await fits(page, `the setup page fits the window, ${colorScheme} at ${size.width} px`);
      await page.context().close();
    }
  }
  audits.end(6);

  // The first person.
  await ann.goto(given.setup);
  await ann.getByLabel("Your name").fill("ann");
  await ann.getByLabel("A password of").fill("too short");
  await ann.getByRole("button", { name: "Begin" }).click();
  holds(path(ann).startsWith("/setup/"), "a short password is not taken");
  await ann.getByLabel("A password of").fill(first);
  await Promise.all([ann.waitForURL("**/connect"), ann.getByRole("button", { name: "Begin" }).click()]);
  await ann.goto("/you");
  same(await ann.locator("h1").innerText(), "ann, owner", "the setup link makes an owner, who is signed in");
  const again = await stage.window({ size: PHONE });
  stage.guard.expect(404);
  await again.goto(given.setup);
  same(await again.locator("h1").innerText(), "This link does not work", "the setup link works once");

  // The second, by a link.
  const { link } = await ask("make bob");
  const bob = await stage.window({ size: PHONE });
  await bob.goto(link);
  await bob.getByRole("button", { name: "Sign in" }).click();
  await bob.waitForURL("**/you");
  same(await bob.locator("h1").innerText(), "bob, reviewer", "a one-time link signs its person in");
  stage.guard.expect(401);
  await again.goto(link);
  await again.getByRole("heading", { name: "This link does not work" }).waitFor();
  same(await again.getByRole("button").count(), 0, "a one-time link works once, and says so as soon as it is opened");

  // A password, signing out, and in again.
  await bob.getByLabel("A new one").fill(bobs);
  await bob.getByRole("button", { name: "Set password" }).click();
  const done = bob.locator("main").getByRole("status");
  await done.getByText("Your password was set.").waitFor();
  holds((await done.innerText()).includes("You were signed in nowhere else."), "a password that was set is told, and that no session ended", await done.innerText());
  await Promise.all([bob.waitForURL((url) => url.pathname === "/"), bob.keyboard.press("Enter")]);
  holds(true, "and Enter leads to the inbox");
  // The mark of a known browser is for another path.
  const session = async () => (await bob.context().cookies()).filter((cookie) => cookie.path === "/");
  const before = await session();
  await signOut(bob);
  await bob.goto("/done");
  same(bob.url(), `${given.address}/sign-in?next=%2Fdone`, "after signing out a page asks to sign in, and remembers where one was going");
  await signIn(bob, "bob", bobs);
  holds(path(bob) === "/done", "a password signs in and leads to where one was going");
  const after = await session();
  holds(before[0].value !== after[0].value, "every session has a secret of its own");

  // Where `next` leads.
  for (const next of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:window.__pwned=1"]) {
    await signOut(bob);
    await bob.goto(`/sign-in?next=${encodeURIComponent(next)}`);
    await signIn(bob, "bob", bobs);
    same(bob.url(), `${given.address}/`, `"${next}" does not lead away`);
  }

  // Sessions.
  await again.goto("/sign-in");
  await signIn(again, "bob", bobs);
  holds(path(again) === "/", "one person may be signed in twice");
  await bob.goto("/you");
  const sessions = bob.locator("section", { has: bob.locator("#sessions-title") }).locator("li");
  same(await sessions.count(), 2, "both sessions are listed");
  holds((await sessions.allInnerTexts()).every((text) => /^Chrome on Linux, signed in \d+ (s|min) ago/.test(text)), "with what they were opened with", await sessions.allInnerTexts());
  await sessions.getByRole("button", { name: "End it" }).click();
  await bob.waitForLoadState();
  same(await sessions.count(), 1, "an ended session is no longer listed");
  await again.goto("/");
  holds(path(again) === "/sign-in", "an ended session is signed out");

  // A changed password asks for the old one.
  await bob.getByLabel("Your password now").fill("not my password!");
  await bob.getByLabel("A new one").fill("another quiet place");
  await bob.getByRole("button", { name: "Set password" }).click();
  await bob.getByRole("alert").waitFor();
  same(await bob.getByRole("alert").innerText(), "That is not your password now.", "a password changes only with the one before");

  // And then ends the other sessions, and says so.
  await signIn(again, "bob", bobs);
  await bob.getByLabel("Your password now").fill(bobs);
  await bob.getByLabel("A new one").fill("another quiet place");
  await bob.getByLabel("Revoke my token too").uncheck();
  await bob.getByRole("button", { name: "Set password" }).click();
  await done.getByText("Your password was changed.").waitFor();
  const changed = await done.innerText();
  holds(changed.includes("1 other session of yours has ended.") && changed.includes("If you have a token, it was not revoked"), "what a new password has done is told", changed);
  await done.getByRole("button", { name: "Revoke my token" }).click();
  await done.getByText("No token of yours works any more").waitFor();
  holds(true, "and the token that still works can be revoked there");
  await bob.reload();
  same(await done.count(), 0, "loaded again, the page says nothing that happened before");
  await again.goto("/sign-in");

  // Guessing.
  stage.guard.expect(429);
  await signIn(again, "bob", "wrong and wrong again");
  const fault = () => again.getByRole("alert").innerText();
  same(await fault(), "That name and password do not go together.", "a wrong password is refused");
  const said = [];
  for (let tries = 0; tries < 8 && !said.at(-1)?.startsWith("Too many tries."); tries += 1) {
    await signIn(again, "bob", "wrong and wrong again");
    said.push(await fault());
  }
  holds(said.at(-1).startsWith("Too many tries. Wait "), "after several wrong tries one is told to wait", said);
});
