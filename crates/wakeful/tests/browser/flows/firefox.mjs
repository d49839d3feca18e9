// Firefox as Debian ships it, driven over WebDriver BiDi: no more of it than
// the flows need. One browser; each window has cookies and storage of its own.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, Window } from "./window.mjs";

const require = createRequire(join(process.env.WAKEFUL_TEST_NODE, "package.json"));
const { WebSocket } = require("ws");

/** Nothing is fetched that no page asked for, and no proxy has a part in it. */
const PREFERENCES = {
  "app.normandy.enabled": false,
  "app.update.disabledForTesting": true,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.page": 0,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "network.manage-offline-status": false,
  "network.proxy.type": 0,
  "toolkit.telemetry.enabled": false,
};
const ADDRESS = /WebDriver BiDi listening on (ws:\S+)/;
/** A browser that says nothing for so long is stuck. */
const PATIENCE_MS = 40_000;
/** What keys are called on the wire. */
const KEYS = { Enter: "\uE007", Escape: "\uE00C", Tab: "\uE004" };

/** One connection to the browser: commands that are answered, and events. */
class Connection {
  #socket;
  #waiting = new Map();
  #last = 0;
  #listeners = [];

  constructor(socket) {
    this.#socket = socket;
    socket.on("message", (data) => {
      const { id, type, method, params, result, error, message } = JSON.parse(data);
      if (type === "event") return this.#listeners.forEach((listener) => listener(method, params));
      const { resolve, reject, command } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (type === "success") resolve(result);
      else reject(new Error(`${command}: ${error}: ${message}`));
    });
    socket.on("close", () => this.#waiting.forEach(({ reject, command }) => reject(new Error(`${command}: the browser is gone`))));
  }

  static async open(address) {
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return new Connection(socket);
  }

  send(command, params = {}) {
    const id = (this.#last += 1);
    this.#socket.send(JSON.stringify({ id, method: command, params }));
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${command} is not answered: ${JSON.stringify(params).slice(0, 200)}`)), PATIENCE_MS);
      const answered = (then) => (value) => { clearTimeout(late); then(value); };
      this.#waiting.set(id, { resolve: answered(resolve), reject: answered(reject), command });
    });
  }

  listen(listener) {
    this.#listeners.push(listener);
  }
}

export class Firefox {
  #connection;
  #child;
  #profile;
  /** Errors in the consoles, in words. */
  errors = [];

  static async launch({ javaScriptEnabled = true } = {}) {
    const firefox = new Firefox();
    firefox.#profile = mkdtempSync(join(tmpdir(), "wakeful-firefox-"));
    const preferences = { ...PREFERENCES, "javascript.enabled": javaScriptEnabled };
    const lines = Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
    writeFileSync(join(firefox.#profile, "user.js"), lines.join(""));
    const flags = ["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", firefox.#profile];
    firefox.#child = spawn("firefox-esr", flags, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: firefox.#profile } });
    process.once("exit", () => firefox.#child.kill("SIGKILL"));
    const address = await new Promise((resolve, reject) => {
      let said = "";
      firefox.#child.once("error", reject);
      firefox.#child.once("exit", () => reject(new Error(`firefox-esr does not start: ${said}`)));
      firefox.#child.stderr.on("data", (data) => {
        said += data;
        const found = said.match(ADDRESS);
        if (found) resolve(found[1]);
      });
    });
    firefox.#connection = await Connection.open(`${address}/session`);
    const capabilities = { alwaysMatch: { acceptInsecureCerts: true } };
    await firefox.#connection.send("session.new", { capabilities });
    await firefox.#connection.send("session.subscribe", { events: ["log.entryAdded"] });
    firefox.#connection.listen((event, { level, text }) => {
      if (event === "log.entryAdded" && level === "error") firefox.errors.push(text);
    });
    return firefox;
  }

  async window() {
    const { userContext } = await this.#connection.send("browser.createUserContext");
    return this.tab(userContext);
  }

  async tab(userContext) {
    const { context } = await this.#connection.send("browsingContext.create", { type: "tab", userContext });
    const tab = new FirefoxWindow(this.#connection, this, userContext, context);
    await this.#connection.send("browsingContext.setViewport", { context, viewport: { width: 1440, height: 900 } });
    return tab;
  }

  async close() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    await this.#connection.send("browser.close").catch(() => this.#child.kill("SIGKILL"));
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

class FirefoxWindow extends Window {
  #connection;
  #firefox;
  #userContext;
  #context;

  constructor(connection, firefox, userContext, context) {
    super();
    [this.#connection, this.#firefox, this.#userContext, this.#context] = [connection, firefox, userContext, context];
  }

  #send(command, more) {
    return this.#connection.send(command, { context: this.#context, ...more });
  }

  async open(url) {
    await this.#send("browsingContext.navigate", { url, wait: "complete" });
  }

  async eval(script, ...given) {
    const { result, exceptionDetails } = await this.#connection.send("script.callFunction", {
      target: { context: this.#context },
      functionDeclaration: asText(script),
      arguments: [{ type: "string", value: JSON.stringify(given) }],
      awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.type === "string" ? JSON.parse(result.value) : undefined;
  }

  async pointAndClick(selector) {
    const { nodes: [node] } = await this.#send("browsingContext.locateNodes", { locator: { type: "css", value: selector }, maxNodeCount: 1 });
    const origin = { type: "element", element: { sharedId: node.sharedId } };
    const actions = [{ type: "pointerMove", x: 0, y: 0, origin }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await this.#send("input.performActions", { actions: [{ type: "pointer", id: "mouse", actions }] });
  }

  async press(...keys) {
    const actions = keys.map((key) => KEYS[key] ?? key).flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await this.#send("input.performActions", { actions: [{ type: "key", id: "keyboard", actions }] });
  }

  async cookies() {
    const { cookies } = await this.#connection.send("storage.getCookies", { partition: { type: "storageKey", userContext: this.#userContext } });
    return cookies.map(({ name, value: { value }, path }) => ({ name, value, path }));
  }

  tab() {
    return this.#firefox.tab(this.#userContext);
  }

  async shot(path) {
    const { data } = await this.#send("browsingContext.captureScreenshot");
    writeFileSync(path, data, "base64");
  }

  async close() {
    await this.#send("browsingContext.close");
  }
}
