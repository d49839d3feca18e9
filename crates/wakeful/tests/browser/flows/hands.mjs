// Two ways to use a page: with the mouse, and by the keyboard alone. A story is
// told once and lived through in both, at both widths.

import { fits, holds, PHONE, same, WIDE } from "./browser.mjs";

/** The letter that follows `g`. */
const LETTERS = { Agents: "a", Webhooks: "w", People: "p", Settings: "s" };
/** So many times Tab leads through the longest page more than once. */
const MOST_TABS = 300;

/** Nothing is wider than the window, and no word is broken to make it so. */
export async function looksRight(page, what) {
  await fits(page, `${what} fits the window`);
  const broken = await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const found = [];
    while (texts.nextNode()) {
      const { currentNode: text, currentNode: { parentElement: around, data } } = texts;
      // Keys, addresses and the like may break anywhere.
      if (!around.checkVisibility() || around.closest("code, pre")) continue;
      for (const { 0: word, index } of data.matchAll(/[A-Za-z]{2,16}/g)) {
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push(word);
      }
    }
    return found;
  });
  same(broken, [], `${what} breaks no word`);
}

class Hand {
  constructor(page, size) {
    Object.assign(this, { page, size });
  }

  get at() {
    return `${this.how} at ${this.size.width} px`;
  }

  looksRight(what) {
    return looksRight(this.page, `${what}, ${this.at},`);
  }

  /** Presses what leads to another page, and waits for that. */
  async send(control) {
    await Promise.all([this.page.waitForEvent("load"), this.press(control)]);
  }

  /** Presses what folds out a question, and then the answer to it. */
  async sure(within, question, answer) {
    const button = within.getByRole("button", { name: answer });
    holds(!(await button.isVisible()), `"${answer}" takes two steps, ${this.at}`);
    await this.press(within.getByText(question, { exact: true }));
    await this.send(button);
  }

  /** What a page shows this once, under a name. */
  async shown(name) {
    const names = await this.page.getByRole("term").allInnerTexts();
    return this.page.getByRole("definition").nth(names.indexOf(name));
  }

  /** The same, copied as people copy it. */
  async taken(name) {
    const shown = await this.shown(name);
    await this.press(shown.getByRole("button", { name: "Copy" }));
    await shown.getByRole("button", { name: "Copied" }).waitFor();
    const text = await this.page.evaluate(() => navigator.clipboard.readText());
    same(text, await shown.getByRole("code").innerText(), `"${name}" is copied as it is shown, ${this.at}`);
    return text;
  }

  /** Leaves what is shown once: from here on no page has these. */
  async kept(...secrets) {
    await this.looksRight("what is shown once");
    await this.send(this.page.getByRole("link", { name: "Kept it" }));
    const source = await this.page.content();
    holds(!secrets.some((secret) => source.includes(secret)), `what was shown once is not shown again, ${this.at}`);
  }

  /** What the server refused is said, and who looks for it finds it. */
  async refused(words) {
    const said = await this.page.getByRole("alert").innerText();
    holds(said.includes(words), `one is told "${words}", ${this.at}`, said);
    await fits(this.page, `a refusal fits the window, ${this.at}`);
  }
}

export class Mouse extends Hand {
  how = "with the mouse";
  name = `mouse-${this.size.width}`;

  async go(place) {
    await this.send(this.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place, exact: true }));
  }

  async press(control) {
    await control.click();
  }

  async write(field, text) {
    await field.click();
    await field.fill(text);
  }

  async paste(field, text) {
    await this.write(field, text);
  }

  async choose(list, option) {
    await list.selectOption({ label: option });
  }
}

export class Keys extends Hand {
  how = "by keys";
  name = `keys-${this.size.width}`;

  async go(place) {
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("g");
    await Promise.all([this.page.waitForEvent("load"), this.page.keyboard.press(LETTERS[place])]);
  }

  /** Tab leads there, forwards or back, and the focus can be seen. */
  async reach(control) {
    const target = await control.elementHandle();
    const away = () => target.evaluate((target) => {
      const every = document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary");
      const stops = [...every].filter((stop) => stop.checkVisibility({ visibilityProperty: true }));
      return target === document.activeElement ? 0 : stops.indexOf(target) - stops.indexOf(document.activeElement) || 1;
    });
    const press = (steps) => this.page.keyboard.press(steps > 0 ? "Tab" : "Shift+Tab");
    // As far as can be counted, and then one by one.
    const steps = await away();
    for (let left = Math.abs(steps); left > 0; left -= 1) await press(steps);
    for (let tabs = 0; (await away()) !== 0; tabs += 1) {
      if (tabs === MOST_TABS) throw new Error(`Tab never leads to ${control}`);
      await press(steps);
    }
    const seen = await target.evaluate((target) => {
      const [box, style] = [target.getBoundingClientRect(), getComputedStyle(target)];
      return {
        ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
        inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      };
    });
    if (!seen.ring || !seen.inside) throw new Error(`the focus on ${control} cannot be seen: ${JSON.stringify(seen)}`);
  }

  /** Space presses a button, Enter follows and folds out. */
  async press(control) {
    await this.reach(control);
    const isButton = await control.evaluate((control) => control.matches("button"));
    await this.page.keyboard.press(isButton ? "Space" : "Enter");
  }

  /** Nothing is left of what stood there. */
  async empty(field) {
    await this.reach(field);
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.press("Delete");
  }

  async write(field, text) {
    await this.empty(field);
    await this.page.keyboard.type(text);
  }

  async paste(field, text) {
    await this.empty(field);
    await this.page.evaluate((text) => navigator.clipboard.writeText(text), text);
    await this.page.keyboard.press("Control+v");
  }

  /** By the first letters of the option, as far as no space opens the list. */
  async choose(list, option) {
    await this.reach(list);
    await this.page.keyboard.type(option.split(" ")[0]);
    same(await list.locator("option:checked").innerText(), option, `letters choose "${option}", ${this.at}`);
  }
}

const WAYS = [[Mouse, WIDE], [Keys, PHONE], [Keys, WIDE], [Mouse, PHONE]];

/** Another window, used in the same way. */
export async function window(stage, hand, options = {}) {
  const page = await stage.window({ size: hand.size, ...options });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  return new hand.constructor(page, hand.size);
}

/** Lives through a story in every way, each from the inbox on. */
export async function inEveryWay(stage, as, story) {
  for (const [Way, size] of WAYS) {
    const hand = await window(stage, new Way(null, size), { as });
    await hand.page.goto("/");
    await story(hand);
    await hand.page.context().close();
  }
}
