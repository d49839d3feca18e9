// A flow that runs in Chromium or in Firefox, as the test says.

import { join } from "node:path";
import { given, holds, launchChromium, watchTime } from "./browser.mjs";
import { Firefox } from "./firefox.mjs";
import { asText, Window } from "./window.mjs";

class Chromium {
  #browser;
  #more;
  errors = [];

  static async launch(more) {
    const chromium = new Chromium();
    chromium.#browser = await launchChromium();
    chromium.#more = more;
    return chromium;
  }

  async window() {
    const context = await this.#browser.newContext({ viewport: { width: 1440, height: 900 }, ignoreHTTPSErrors: true, reducedMotion: "reduce", ...this.#more });
    context.on("console", (message) => { if (message.type() === "error") this.errors.push(message.text()); });
    context.on("weberror", (error) => this.errors.push(String(error.error())));
    return new ChromiumWindow(await context.newPage());
  }

  async close() {
    await this.#browser.close();
  }
}

class ChromiumWindow extends Window {
  #page;

  constructor(page) {
    super();
    this.#page = page;
  }

  async open(url) {
    await this.#page.goto(url);
  }

  async eval(script, ...given) {
    const text = await this.#page.evaluate(`(${asText(script)})(${JSON.stringify(JSON.stringify(given))})`);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async pointAndClick(selector) {
    await this.#page.click(selector, { noWaitAfter: true });
  }

  async press(...keys) {
    for (const key of keys) await this.#page.keyboard.press(key === " " ? "Space" : key);
  }

  async cookies() {
    const cookies = await this.#page.context().cookies();
    return cookies.map(({ name, value, path }) => ({ name, value, path }));
  }

  async tab() {
    return new ChromiumWindow(await this.#page.context().newPage());
  }

  async shot(path) {
    await this.#page.screenshot({ path });
  }

  async close() {
    await this.#page.close();
  }
}

/** Plays a flow in the browser that the test names. `expected` are the parts of
 * error messages that may be in a console. */
export async function inEither(flow, expected, play) {
  const name = `${flow}-${given.browser}`;
  const inTime = watchTime(name);
  const Browser = { chromium: Chromium, firefox: Firefox }[given.browser];
  const browser = await Browser.launch({ javaScriptEnabled: !given.plain });
  const windows = [];
  let failed = false;
  try {
    await play(async () => {
      const window = await browser.window();
      windows.push(window);
      return window;
    });
    const unexpected = browser.errors.filter((text) => !expected.some((part) => text.includes(part)));
    holds(unexpected.length === 0, "the console stayed quiet", unexpected);
  } catch (error) {
    failed = true;
    console.error(`${name}: ${error.stack ?? error}`);
    for (const [at, window] of windows.entries()) {
      const path = join(given.shots, `${name}-${at + 1}.png`);
      const where = await window.url().catch(() => "?");
      const shot = await window.shot(path).then(() => path, (why) => `no screenshot: ${why.message}`);
      console.error(`${where}\n  ${shot}`);
    }
  }
  await browser.close();
  inTime();
  process.exit(failed ? 1 : 0);
}
