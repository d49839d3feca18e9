// People: brought in, given another role, suspended, signed out, let go.

import { api, deliver, flow, given, holds, same } from "./browser.mjs";
import { inEveryWay, window } from "./hands.mjs";

const token = given.people.ann.token;
const path = (page) => new URL(page.url()).pathname;
const known = async (name) => (await api("GET", "/api/v1/users", token)).json().users.find((user) => user.name === name);

/** Opens a page and waits until it hears what happens. */
async function listen(page, address) {
  await Promise.all([page.waitForResponse("**/api/v1/events"), page.goto(address)]);
}

/** An open tab is told by itself that it is signed out, and truly is. */
async function signedOut(guest, why) {
  const { page, at } = guest;
  await page.getByText("You are signed out.").waitFor();
  same(await page.evaluate(() => fetch("/api/v1/inbox").then(({ status }) => status)), 401, `${why} ends what an open tab may read, ${at}`);
  await guest.looksRight("being told so");
  await guest.send(page.getByRole("button", { name: "Sign in" }));
  same(path(page), "/sign-in", `and the tab says so without being loaded again, ${at}`);
}

await flow("people", async (stage) => {
  stage.guard.expect(401, 404, 409);
  const item = await deliver({ type: "question", headline: "May I?" });
  await inEveryWay(stage, "ann", async (hand) => {
    const { page, at } = hand;
    const name = `kim-${hand.name}`;
    const line = page.getByRole("listitem").filter({ hasText: name });
    const button = (label) => line.getByRole("button", { name: label, exact: true });
    const says = async (words) => (await line.innerText()).includes(words);
    const link = async () => {
      const text = await hand.taken("Opens this server once, within a day");
      await hand.kept(text);
      return text;
    };
    const enter = async (guest, link) => {
      await guest.page.goto(link);
      await guest.send(guest.page.getByRole("button", { name: "Sign in" }));
      same(path(guest.page), "/you", `the link signs its person in, ${at}`);
    };

    // Someone new.
    await hand.go("People");
    const own = page.getByRole("listitem").filter({ hasText: /^ann / });
    same([await own.count(), await own.getByRole("button").count()], [1, 0], `nobody is offered to suspend themselves, ${at}`);
    await hand.write(page.getByLabel(/^Name/), "Kim!");
    await hand.press(page.getByRole("button", { name: "Create" }));
    holds(await page.getByLabel(/^Name/).evaluate((name) => name.validity.patternMismatch), `what cannot be a name is not sent, ${at}`);
    await hand.write(page.getByLabel(/^Name/), name);
    await hand.choose(page.getByLabel("Role", { exact: true }), "viewer");
    await hand.send(page.getByRole("button", { name: "Create" }));
    same(await page.getByRole("heading", { level: 1 }).innerText(), `A link for ${name}`, `someone new gets a link, ${at}`);
    const first = await link();
    same([(await known(name)).role, (await known(name)).state], ["viewer", "active"], `and is there, ${at}`);
    const guest = await window(stage, hand);
    await enter(guest, first);
    const code = (await api("POST", `/api/v1/users/${name}/token`, token)).json().token;
    const me = async () => (await api("GET", "/api/v1/me", code)).status;
    same(await me(), 200, `the API knows them, ${at}`);
    await guest.page.goto(`/items/${item}`);
    const approve = guest.page.getByRole("button", { name: "Approve" });
    same(await approve.count(), 0, `a viewer is not offered to answer, ${at}`);

    // Another role.
    await hand.choose(page.getByLabel(`Role of ${name}`), "reviewer");
    await hand.send(button("Change role"));
    same((await known(name)).role, "reviewer", `a role is changed, ${at}`);
    await guest.page.reload();
    same(await approve.count(), 1, `and at once allows what it allows, ${at}`);

    // Suspended.
    await listen(guest.page, `/items/${item}`);
    holds(await says("signed in at 1 place"), `the page says where they are signed in, ${at}`);
    await hand.send(button("Suspend"));
    same((await known(name)).state, "suspended", `one is suspended, ${at}`);
    holds(await says("suspended"), `and the page says so, ${at}`);
    await signedOut(guest, "suspending");
    same([await me(), await button("New sign-in link").count()], [401, 0], `no token and no link helps, ${at}`);
    await hand.looksRight("the list of people");

    // Resumed.
    await hand.send(button("Resume"));
    same([(await known(name)).state, await me()], ["active", 200], `one is let in again, ${at}`);
    await guest.page.goto("/");
    same(path(guest.page), "/sign-in", `but not signed in by that, ${at}`);
    await hand.send(button("New sign-in link"));
    await enter(guest, await link());

    // Signed out, wherever that is.
    const elsewhere = await window(stage, hand);
    await hand.send(button("New sign-in link"));
    await enter(elsewhere, await link());
    await page.reload();
    holds(await says("signed in at 2 places"), `one may be signed in at two places, ${at}`);
    for (const open of [guest, elsewhere]) await listen(open.page, "/");
    await hand.send(button("Sign out everywhere"));
    for (const open of [guest, elsewhere]) await signedOut(open, "ending all sessions");
    same([(await known(name)).state, await me()], ["active", 200], `who is signed out may come back, ${at}`);
    same([await says("signed in at"), await button("Sign out everywhere").count()], [false, 0], `and the page knows that nothing is left to end, ${at}`);

    // Let go, with a link still unused.
    await hand.send(button("New sign-in link"));
    const unused = await link();
    await hand.sure(line, "Deactivate…", "Deactivate for good");
    same([(await known(name)).state, await me()], ["deactivated", 401], `one is let go, ${at}`);
    same(await line.getByRole("button").count(), 0, `and nothing more is offered for them, ${at}`);
    await guest.page.goto(unused);
    same(await guest.page.getByRole("heading", { level: 1 }).innerText(), "This link does not work", `a link from before does not work, ${at}`);

    // What cannot be.
    await hand.write(page.getByLabel(/^Name/), name);
    await hand.send(page.getByRole("button", { name: "Create" }));
    await hand.refused("already a user");
    same((await known(name)).state, "deactivated", `a name is never given twice, ${at}`);
    for (const open of [guest, elsewhere]) await open.page.context().close();
  });
});
