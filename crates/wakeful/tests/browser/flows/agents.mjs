// Agents and their keys: made, rotated, revoked, and the prompt.

import { api, flow, given, holds, same } from "./browser.mjs";
import { inEveryWay } from "./hands.mjs";

const HOUR_MS = 3600_000;
const token = given.people.ann.token;
const listed = async (id) => (await api("GET", "/api/v1/keys", token)).json().keys.find(({ key_id }) => key_id === id);

/** What an agent is told that delivers with this key. */
async function delivers(agent, key, more = {}) {
  const body = { agent_id: agent, provider: "claude", type: "update", headline: "At work", summary: "Still at it.", ...more };
  const answer = await api("POST", "/wake/v1/deliver", key, body);
  return { status: answer.status, id: answer.json().delivery_id };
}

await flow("agents", async (stage) => {
  stage.guard.expect(422);
  await inEveryWay(stage, "ann", async (hand) => {
    const { page, at } = hand;
    const agent = `<${hand.name}> & "co"`;
    const part = page.locator("section", { has: page.getByRole("heading", { name: agent, exact: true }) });
    const line = (id) => page.getByRole("listitem").filter({ hasText: id });
    const works = async (key) => (await delivers(agent, key)).status;
    const fresh = async (prefix) => {
      const id = await (await hand.shown("Known as")).getByRole("code").innerText();
      const key = await hand.taken("Key");
      holds(key.startsWith(prefix), `the new key begins with ${prefix}, ${at}`, key.slice(0, 8));
      await hand.kept(key);
      return { key, id };
    };

    // A key that cannot be is not made.
    await hand.go("Agents");
    await hand.write(page.getByLabel(/^Agent id/), agent);
    await hand.write(page.getByLabel(/^Rate/), "many");
    await hand.press(page.getByRole("button", { name: "Create the key" }));
    holds(await page.getByLabel(/^Rate/).evaluate((rate) => rate.validity.patternMismatch), `what is no rate is not sent, ${at}`);
    await hand.write(page.getByLabel(/^Rate/), "0/0");
    await hand.send(page.getByRole("button", { name: "Create the key" }));
    await hand.refused("both at least 1");
    same(await part.count(), 0, `and no agent was made, ${at}`);
    same(await page.getByLabel(/^Agent id/).inputValue(), agent, `but what was written is still there, ${at}`);

    // Made.
    await hand.write(page.getByLabel(/^Rate/), "700/30");
    await hand.send(page.getByRole("button", { name: "Create the key" }));
    same(await page.getByRole("term").allInnerTexts(), ["Agent", "Key", "Known as", "Secret that signs its callbacks"], `a first key comes with a secret for callbacks, ${at}`);
    const secret = await hand.taken("Secret that signs its callbacks");
    const first = await fresh("wk_live_");
    holds(secret.startsWith("whsec_") && !(await page.content()).includes(secret), `which is not shown again either, ${at}`);
    same((await listed(first.id)).rate, { burst: 30, per_hour: 700 }, `it has the rate that was written, ${at}`);
    holds((await line(first.id).innerText()).includes("700 an hour, 30 at once"), `and the page says so, ${at}`);
    same(await works(first.key), 201, `the key that was shown works, ${at}`);

    // Rotated, with an overlap.
    await hand.choose(line(first.id).getByLabel("How long the old key works on"), "an hour longer");
    await hand.send(line(first.id).getByRole("button", { name: "Rotate" }));
    const second = await fresh("wk_live_");
    same([await works(first.key), await works(second.key)], [201, 201], `with an overlap both keys work, ${at}`);
    const left = Date.parse((await listed(first.id)).expires_at) - Date.now();
    holds(left > HOUR_MS - 60_000 && left <= HOUR_MS, `the old one for an hour, ${at}`, left);
    holds(/ends in (59 min|1 h)/.test(await line(first.id).innerText()), `and the page says until when, ${at}`);
    same((await listed(second.id)).rate, { burst: 30, per_hour: 700 }, `the new one has the rate of the old, ${at}`);

    // Rotated, without.
    await hand.choose(line(second.id).getByLabel("How long the old key works on"), "no longer");
    await hand.send(line(second.id).getByRole("button", { name: "Rotate" }));
    const third = await fresh("wk_live_");
    same([await works(second.key), await works(third.key)], [401, 201], `without one the old key ends at once, ${at}`);

    // Revoked.
    await hand.sure(line(third.id), "Revoke…", "Revoke it");
    same([await works(first.key), await works(third.key)], [201, 401], `a revoked key ends, and only that, ${at}`);
    await hand.sure(line(first.id), "Revoke…", "Revoke it");
    same(await works(first.key), 401, `even one that was to end by itself, ${at}`);
    holds((await part.innerText()).includes("No key works."), `the page says that none is left, ${at}`);
    await hand.press(part.getByText("3 that no longer work"));
    same(await part.getByRole("listitem").filter({ hasText: /key_/ }).evaluateAll((lines) => lines.map((line) => /; (revoked|ended) \d+ s ago/.test(line.innerText))), [true, true, true], `and which there were, ${at}`);
    same(await part.getByRole("button").count(), 0, `which offer nothing more, ${at}`);
    await hand.looksRight("the list of agents");

    // For tests.
    await hand.write(page.getByLabel(/^Agent id/), agent);
    await hand.choose(page.getByLabel(/^Kind/), "test: deliveries are marked");
    await hand.send(page.getByRole("button", { name: "Create the key" }));
    same(await page.getByRole("term").allInnerTexts(), ["Agent", "Key", "Known as"], `a further key brings no other secret, ${at}`);
    const trial = await fresh("wk_test_");
    const sent = await delivers(agent, trial.key);
    same((await api("GET", `/api/v1/inbox/${sent.id}`, token)).json().test, true, `what comes by a test key is marked, ${at}`);

    // The prompt.
    await hand.send(part.getByRole("link", { name: "Prompt" }));
    same(await page.getByRole("heading", { level: 1 }).innerText(), `Prompt for ${agent}`, `each agent has a prompt, ${at}`);
    await hand.press(page.getByRole("button", { name: "Copy" }));
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const prompt = (await api("GET", `/api/v1/agents/${encodeURIComponent(agent)}/prompt`, token)).text;
    holds(prompt.includes(JSON.stringify(agent)) && copied.trim() === prompt.trim(), `which is copied whole, ${at}`, copied.slice(-80), prompt.slice(-80));
    await hand.looksRight("the prompt");
  });
});
