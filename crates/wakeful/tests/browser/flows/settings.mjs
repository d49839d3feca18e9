// Settings: how long content is kept, and how much keys may deliver.

import { api, flow, given, holds, same } from "./browser.mjs";
import { inEveryWay } from "./hands.mjs";

const token = given.people.ann.token;
const kept = async () => (await api("GET", "/api/v1/retention", token)).json().retention_days;
const rates = async () => (await api("GET", "/api/v1/rates", token)).json().rates;

/** What an agent with a key of this kind is told, delivering several times. */
async function delivers(agent, test, times) {
  const { key } = (await api("POST", "/api/v1/keys", token, { agent_id: agent, test })).json();
  const body = { agent_id: agent, provider: "claude", type: "update", headline: "At work", summary: "Still at it." };
  const told = [];
  while (told.length < times) told.push((await api("POST", "/wake/v1/deliver", key, body)).status);
  return told;
}

await flow("settings", async (stage) => {
  stage.guard.expect(422);
  const usual = await rates();
  await inEveryWay(stage, "ann", async (hand) => {
    const { page, at } = hand;
    await hand.go("Settings");

    // How long content is kept, for each type by itself.
    const types = ["output", "question", "alert", "update"];
    const days = (type) => page.getByLabel(`Days for ${type}`);
    const ofType = (type) => page.getByRole("listitem").filter({ has: days(type) });
    const keep = (type) => ofType(type).getByRole("button", { name: "Keep so many days" });
    const forGood = (type) => ofType(type).getByRole("button", { name: "Keep for good" });
    same(await Promise.all(types.map((type) => ofType(type).innerText().then((text) => text.includes("for good")))), [true, true, true, true], `content is kept for good unless one says otherwise, ${at}`);
    for (const [number, type] of types.entries()) {
      await hand.write(days(type), String(30 + number));
      await hand.send(keep(type));
      holds((await ofType(type).innerText()).includes(`${30 + number} days`), `the page says how long an ${type} is kept, ${at}`);
    }
    const all = { alert: 32, output: 30, question: 31, update: 33 };
    same(await kept(), all, `each type is kept as long as was said, ${at}`);
    for (const wrong of ["0", "36501"]) {
      await hand.write(days("alert"), wrong);
      await hand.press(keep("alert"));
      holds(!(await days("alert").evaluate((days) => days.validity.valid)), `${wrong} days are not sent, ${at}`);
    }
    await hand.write(days("alert"), "");
    await hand.send(keep("alert"));
    await hand.refused("or choose to keep it for good");
    same(await kept(), all, `and nothing has changed, ${at}`);
    for (const type of types) {
      await hand.send(forGood(type));
      same(await forGood(type).count(), 0, `what is kept for good offers nothing to take back, ${at}`);
    }
    same(await kept(), {}, `everything is kept for good again, ${at}`);

    // How much keys may deliver.
    for (const [kind, test] of [["live", false], ["test", true]]) {
      const rate = page.getByLabel(`Rate of ${kind} keys`);
      const line = page.getByRole("listitem").filter({ has: rate });
      const asBefore = line.getByRole("button", { name: "As WAKE has it" });
      same(await asBefore.count(), 0, `the usual rate offers nothing to take back, ${at}`);
      await hand.write(rate, "60/2");
      await hand.send(line.getByRole("button", { name: "Set this rate" }));
      holds((await line.innerText()).includes("60 an hour, 2 at once"), `the page says what ${kind} keys may deliver, ${at}`);
      same((await rates())[kind], { burst: 2, per_hour: 60 }, `${kind} keys have another rate, ${at}`);
      same(await delivers(`${kind}-${hand.name}`, test, 3), [201, 201, 429], `and are held to it, ${at}`);
      await hand.looksRight("what is set");
      await hand.write(rate, "many");
      await hand.press(line.getByRole("button", { name: "Set this rate" }));
      holds(await rate.evaluate((rate) => rate.validity.patternMismatch), `what is no rate is not sent, ${at}`);
      await hand.write(rate, "0/1");
      await hand.send(line.getByRole("button", { name: "Set this rate" }));
      await hand.refused("both at least 1");
      same((await rates())[kind], { burst: 2, per_hour: 60 }, `nor taken, ${at}`);
      await hand.send(asBefore);
      same(await rates(), usual, `the rate of ${kind} keys is taken back, ${at}`);
      same(await delivers(`${kind}-again-${hand.name}`, test, 3), [201, 201, 201], `and they may deliver more, ${at}`);
    }
  });
});
