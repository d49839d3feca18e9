// A window in either browser: what flows that run in both may ask of it. A
// selector is plain CSS, and a script is a function that knows nothing but what
// it is given.

import { eventually, given } from "./browser.mjs";

/** A page that is the same after so long is not being left. */
const STAYS_MS = 250;

/** A function that gives what a script gives, as JSON. It waits for nothing that is
 * there at once: where scripts are off, no promise is ever kept. */
export const asText = (script) => `(given) => {
  const found = (${script})(...JSON.parse(given));
  return found instanceof Promise ? found.then(JSON.stringify) : JSON.stringify(found);
}`;

/** What a browser adds: `open`, `eval`, `pointAndClick`, `press`, `cookies`, `tab`, `shot`, `close`. */
export class Window {
  /** What stands before every path where scripts are off; nothing where they are on. */
  prefix = "";

  /** Goes to a path of the server, or to any address, as if it were typed. */
  async goto(address) {
    await this.open(new URL(address, given.address).href);
  }

  /** Goes where a page of ours would lead. */
  async visit(path) {
    await this.goto(this.prefix + path);
  }

  /** Waits until a script gives something, which may take several pages. */
  waitFor(what, script, ...more) {
    return eventually(what, () => this.eval(script, ...more).catch(() => null));
  }

  /** Waits until the path is this, whatever stands before it. */
  async at(path) {
    const found = await this.waitFor(`the path is ${path}`, (path) => {
      const [, prefix, rest] = location.pathname.match(/^(\/~[^/]+)?(.*)$/);
      return (rest || "/") === path && document.readyState === "complete" && [prefix ?? ""];
    }, path);
    [this.prefix] = found;
  }

  /** What a script gives that only looks, once no other page is on its way. */
  async look(script, ...more) {
    const [found] = await eventually("a page can be looked at", () => this.eval(script, ...more).then((found) => [found], () => null));
    return found;
  }

  /** What can be read on a page once it stays as it is: a script may hide one and
   * lead elsewhere. */
  async settled() {
    let before;
    return eventually("a page stays as it is", async () => {
      await new Promise((resolve) => setTimeout(resolve, STAYS_MS));
      const now = await this.look(() => document.readyState === "complete" && document.body.checkVisibility() && `${location.href}\n${document.title}\n${document.body.innerText.replace(/\d+ (s|min) ago/g, "")}`);
      const same = now && now === before;
      before = now;
      return same && now;
    });
  }

  url() {
    return this.look(() => location.href);
  }

  title() {
    return this.look(() => document.title);
  }

  /** What an element says, once it is there. */
  text(selector) {
    return this.waitFor(`${selector} says something`, (selector) => document.querySelector(selector)?.innerText, selector);
  }

  isVisible(selector) {
    return this.look((selector) => document.querySelector(selector)?.checkVisibility() ?? false, selector);
  }

  async click(selector) {
    await this.waitFor(`${selector} can be seen`, (selector) => {
      const found = document.querySelector(selector);
      found?.scrollIntoView({ block: "center" });
      return found?.checkVisibility();
    }, selector);
    await this.pointAndClick(selector);
  }

  /** Types a text over what stands in a field. */
  async fill(selector, text) {
    await this.waitFor(`${selector} can be written in`, (selector) => {
      const field = document.querySelector(selector);
      field?.focus();
      field?.select();
      return field && document.activeElement === field;
    }, selector);
    await this.press(...text);
  }

  /** Everything that pages of this origin keep in the browser. */
  kept() {
    return this.look(() => [localStorage, sessionStorage].flatMap((storage) => Object.values({ ...storage })));
  }
}
