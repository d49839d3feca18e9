// Callbacks: where they may go, what became of them, sending one again, secrets.

import { createHmac } from "node:crypto";
import { api, ask, eventually, flow, given, holds, key, respond, same } from "./browser.mjs";
import { inEveryWay } from "./hands.mjs";

const token = given.people.ann.token;
const allowed = async () => (await api("GET", "/api/v1/webhooks/allowlist", token)).json().allowlist;
const host = new URL(given.hook).host;

/** Delivers with a webhook; gives what came back. */
function deliver(path) {
  const body = { agent_id: "scout", provider: "claude", type: "question", headline: "Call me back", summary: "With the answer." };
  return api("POST", "/wake/v1/deliver", key("scout"), { ...body, callback_webhook: given.hook + path });
}

/** As the Standard Webhooks specification says it. */
function signature(secret, { headers, body }) {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return `v1,${createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64")).update(signed).digest("base64")}`;
}

await flow("webhooks", async (stage) => {
  stage.guard.expect(404, 409, 422);
  await inEveryWay(stage, "ann", async (hand) => {
    const { page, at } = hand;
    const line = page.getByRole("listitem").filter({ hasText: host });
    const row = (id) => page.getByRole("row").filter({ has: page.locator(`a[href="/items/${id}"]`) });
    const answered = async (path) => {
      const id = (await deliver(path)).json().delivery_id;
      await respond(id, "bob", { status: "approved", feedback: "Go on" });
      return id;
    };
    /** What the page says of a callback once it says this. */
    const shows = (id, words) => eventually(`the page says "${words}"`, async () => {
      await page.reload();
      const text = await row(id).innerText();
      return text.includes(words) && text;
    });
    const newSecret = async () => {
      await hand.write(page.getByLabel(/^Agent id/), "scout");
      await hand.send(page.getByRole("button", { name: "Make a new secret" }));
      const secret = await hand.taken("Secret that signs its callbacks");
      holds(secret.startsWith("whsec_"), `a new secret is shown, ${at}`);
      await hand.kept(secret);
      return secret;
    };

    // Nowhere.
    await hand.go("Webhooks");
    await page.getByText("Nowhere yet").waitFor();
    same((await deliver("/any")).status, 422, `a webhook that is not allowed is refused, ${at}`);

    // What cannot be allowed.
    await hand.write(page.getByLabel(/^Host/), "http://hooks.example");
    await hand.send(page.getByRole("button", { name: "Allow" }));
    await hand.refused("a wildcard (*.example.com)");
    await hand.write(page.getByLabel(/^Host/), host);
    await hand.write(page.getByLabel(/^Its own authority/), "no certificate");
    await hand.send(page.getByRole("button", { name: "Allow" }));
    await hand.refused("PEM");
    same(await allowed(), [], `and nothing was allowed by that, ${at}`);
    same(await page.getByLabel(/^Host/).inputValue(), host, `but what was written is still there, ${at}`);

    // Allowed, with networks and an authority.
    await hand.write(page.getByLabel(/^Private networks/), "127.0.0.0/8, ::1/128");
    await hand.paste(page.getByLabel(/^Its own authority/), given.authority);
    await hand.send(page.getByRole("button", { name: "Allow" }));
    const rule = (await allowed())[0];
    same([rule.pattern, rule.networks, rule.ca_pem.trim()], [host, ["127.0.0.0/8", "::1/128"], given.authority.trim()], `a host is allowed with its networks and its authority, ${at}`);
    const said = await line.innerText();
    holds(said.includes("also in 127.0.0.0/8, ::1/128") && said.includes("with its own authority"), `and the page says so, ${at}`, said);

    // Received, as polled, and signed by the secret that was shown.
    const secret = await newSecret();
    const first = await answered("/taken");
    const seen = await ask("receive");
    const polled = (await api("GET", `/wake/v1/response/${first}`, key("scout"))).text;
    same([seen.path, seen.body], ["/hook/taken", polled], `the callback is received, ${at}`);
    const signatures = ({ headers }) => headers["webhook-signature"].split(" ");
    holds(signatures(seen).includes(signature(secret, seen)), `signed by the secret that was shown, ${at}`);
    holds(/delivered\s+1\s/.test(await shows(first, "delivered")), `the page lists it as delivered at the first try, ${at}`);

    // Refused, and sent again.
    const second = await answered(`/refused-once/${hand.name}`);
    await ask("receive");
    const failed = await shows(second, "gave up");
    holds(/gave up\s+1\s/.test(failed) && failed.includes("410"), `a refusal is listed with what was said, ${at}`, failed);
    await hand.looksRight("the list of callbacks");
    await hand.send(row(second).getByRole("button", { name: "Send again" }));
    same((await ask("receive")).headers["x-wake-delivery-id"], second, `a callback is sent again, ${at}`);
    holds(await shows(second, "delivered"), `and then listed as delivered, ${at}`);
    await hand.send(row(second).getByRole("link"));
    const history = await page.getByRole("main").innerText();
    same([history.match(/webhook attempted/g)?.length, history.match(/webhook replayed/g)?.length], [2, 1], `the item tells of every try, and who asked for it, ${at}`);
    await hand.looksRight("an item with tries");

    // Another secret signs beside the one before.
    await hand.go("Webhooks");
    const next = await newSecret();
    await answered("/taken");
    const both = await ask("receive");
    same(signatures(both).toSorted(), [signature(secret, both), signature(next, both)].toSorted(), `for a while two secrets sign, ${at}`);

    // No more.
    await hand.send(line.getByRole("button", { name: "Remove" }));
    await page.getByText("Nowhere yet").waitFor();
    same([(await allowed()).length, (await deliver("/any")).status], [0, 422], `a host that was removed gets nothing more, ${at}`);
  });
});
