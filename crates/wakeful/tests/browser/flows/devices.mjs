// Devices among the agents: a real one comes, is asked something, goes, gets a
// new token, and is removed.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Audit } from "./axe.mjs";
import { api, eventually, flow, given, holds, PHONE, same, WIDE } from "./browser.mjs";
import { inEveryWay } from "./hands.mjs";

const token = given.people.ann.token;
const QUIET = "Relayed: 0 to it (0 bytes), 0 from it (0 bytes), 0 refused.";

/** A machine of ann's with `wakeful link device`, and her client beside it. */
class Machine {
  #home = mkdtempSync(join(tmpdir(), "device-"));
  #child;

  constructor(name) {
    this.name = name;
    // Whatever ends the flow ends the machine too.
    process.once("exit", () => {
      this.#child?.kill();
      rmSync(this.#home, { recursive: true });
    });
    this.#run("link", "add", name, "--token-file", this.#file("token"));
    this.#run("link", "pair", name, "--secret-file", this.#file("secret"));
    writeFileSync(this.#file("device.toml"), [
      `server = ${JSON.stringify(given.address)}`, `agent = ${JSON.stringify(name)}`,
      'token-file = "token"', 'secret-file = "secret"', "",
    ].join("\n"));
  }

  #file(name) {
    return join(this.#home, name);
  }

  #run(...words) {
    const env = { ...process.env, WAKEFUL_TOKEN: token, WAKEFUL_DATA: given.data, XDG_STATE_HOME: this.#home };
    return execFileSync(given.wakeful, words, { env, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  }

  /** Puts a token in the place of the one it has. */
  take(token) {
    writeFileSync(this.#file("token"), token, { mode: 0o600 });
  }

  /** Asks it for something, sealed. */
  ask(command) {
    return JSON.parse(this.#run("link", "send", this.name, command, "--secret-file", this.#file("secret"), "--json"));
  }

  async start() {
    this.#child = spawn(given.wakeful, ["link", "device", "--config", this.#file("device.toml")], { stdio: ["ignore", "ignore", "pipe"] });
    for await (const line of createInterface({ input: this.#child.stderr })) {
      if (JSON.parse(line).message.startsWith("online")) break;
    }
    this.#child.stderr.resume();
  }

  async stop() {
    const ended = new Promise((resolve) => { this.#child.once("exit", resolve); });
    if (this.#child.exitCode === null) {
      this.#child.kill();
      await ended;
    }
  }
}

await flow("devices", async (stage) => {
  const audits = new Audit();
  await inEveryWay(stage, "ann", async (hand) => {
    const { page, at } = hand;
    const name = `<${hand.name}> & "lamp"`;
    const machine = new Machine(name);
    const part = page.locator("section", { has: page.getByRole("heading", { name, exact: true }) });
    const device = part.getByRole("listitem");
    const reads = async (words, sentence) => {
      const seen = await eventually(sentence, async () => {
        await page.reload();
        const text = await device.innerText();
        return words.every((word) => text.includes(word)) && text;
      });
      holds(seen, `${sentence}, ${at}`);
    };

    // Known, and never there yet.
    await hand.go("Agents");
    await reads(["offline", "never seen", QUIET], "a device that never came is shown as that");
    holds((await page.getByRole("main").innerText()).includes("Never what is said"), `what the server cannot see is said, ${at}`);
    same(await part.getByText("No key works.").count(), 0, `it misses no key, ${at}`);

    // There, and asked something.
    await machine.start();
    await reads(["online", QUIET], "a device that came is online");
    same(machine.ask("info").result.agent_id, name, `it answers, ${at}`);
    await eventually("what passed is counted", async () => {
      await page.reload();
      return !(await device.innerText()).includes(QUIET);
    });
    const [, to, from] = /: (\d+) to it \(.+\), (\d+) from it \(.+\), 0 refused\./.exec(await device.innerText());
    const { link: { relayed } } = (await api("GET", `/api/v1/agents/${encodeURIComponent(name)}`, token)).json();
    same([Number(to), Number(from)], [relayed.to_device, relayed.from_device], `what passed is shown as it was counted, ${at}`);
    holds(to > 1 && from > 1, `greeting, question and answers all passed, ${at}`, to, from);
    await hand.looksRight("a device");
    if (hand.how === "with the mouse") {
      for (const colorScheme of ["light", "dark"]) {
        const audited = await stage.window({ as: "ann", size: hand.size, colorScheme, bypassCSP: true });
        await audited.goto("/agents");
        await audited.locator("main details").evaluateAll((parts) => { for (const part of parts) part.open = true; });
        await audits.look(audited, `devices, ${colorScheme} at ${hand.size.width} px`);
        await audited.context().close();
      }
    }

    // Gone: a page that is open says so by itself.
    await machine.stop();
    await device.filter({ hasText: "offline" }).waitFor();
    holds((await device.innerText()).includes("last seen just now"), `an open page shows that a device went, ${at}`);
    await reads(["offline", "last seen", " s ago"], "a device that went was last seen a moment ago");

    // A new token: the old one is out at once, the new one opens.
    await machine.start();
    await hand.sure(device, "Rotate…", "Rotate it");
    same(await page.getByRole("term").allInnerTexts(), ["Agent", "Token", "Connects to"], `a new token comes with what it is for, ${at}`);
    const fresh = await hand.taken("Token");
    holds(fresh.startsWith("wld_"), `the new token is one for devices, ${at}`);
    await hand.kept(fresh);
    await reads(["offline"], "whoever came in with the old token is out");
    await machine.stop();
    machine.take(fresh);
    await machine.start();
    await reads(["online"], "the new token opens the relay");

    // Removed. It is stopped before, so that it does not come back with a token
    // that is none: five of those lock its address out.
    await machine.stop();
    await hand.sure(device, "Remove…", "Remove it");
    same(await part.count(), 0, `a device that was removed is gone, ${at}`);
    same((await api("GET", `/api/v1/agents/${encodeURIComponent(name)}`, token)).status, 404, `everywhere, ${at}`);
  });
  audits.end(4);

  // Somebody else's device is theirs.
  const lamp = await api("POST", "/api/v1/agents", given.people.bob.token, { agent_id: "bobs" });
  same(lamp.status, 201, "a reviewer has a device");
  for (const size of [WIDE, PHONE]) {
    const shown = async (as) => {
      const page = await stage.window({ as, size });
      await page.goto("/agents");
      const part = page.locator("section", { has: page.getByRole("heading", { name: "bobs", exact: true }) });
      const seen = { text: await part.innerText(), offers: await part.locator("summary").allInnerTexts() };
      await page.context().close();
      return seen;
    };
    const [bob, ann] = [await shown("bob"), await shown("ann")];
    holds(bob.text.includes("never seen"), `whose device it is sees it at ${size.width} px`);
    same(bob.offers, ["Rotate…", "Remove…"], `and may do everything about it at ${size.width} px`);
    holds(ann.text.includes("only bob sees whether it is online"), `who administers is told whose it is at ${size.width} px`);
    same(ann.offers, ["Remove…"], `and may take it away at ${size.width} px`);
  }
});
