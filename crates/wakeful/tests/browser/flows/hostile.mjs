// Every hostile delivery, and every other page on which an agent's text stands:
// nothing runs, nothing is loaded, nothing strange is in the page, nothing
// leaves its place.

import { ask, flow, given, holds, PHONE, WIDE } from "./browser.mjs";

/** What is wrong with the page one is on; runs in the browser. */
function look(topHeight) {
  const wrong = [];
  const root = document.documentElement;
  const only = (query) => {
    const found = document.querySelectorAll(query);
    if (found.length !== 1) wrong.push(`${found.length} of ${query}`);
    return found[0];
  };

  // The frame of the page.
  if (root.dir || getComputedStyle(document.body).direction !== "ltr") wrong.push("the direction has changed");
  const [top, main] = [only("body > header.top"), only("body > main#main")];
  only("#said");
  only("title");
  if (!document.title.endsWith(" · Wakeful")) wrong.push(`the title is ${document.title}`);
  if (top && main) {
    const [above, below] = [top.getBoundingClientRect(), main.getBoundingClientRect()];
    if (above.left !== 0 || Math.round(above.right) !== root.clientWidth || above.top + scrollY !== 0) wrong.push("the top is out of place");
    if (topHeight && above.height !== topHeight) wrong.push(`the top is ${above.height} px high`);
    if (below.top < above.bottom) wrong.push("the content covers the top");
  }
  const strays = [...document.body.children].filter((one) => !one.matches("a.skip, header.top, main#main, #said"));
  for (const stray of strays) wrong.push(`beside the content: ${stray.outerHTML.slice(0, 80)}`);

  // What may be in a page at all.
  const told = (one) => one.outerHTML.slice(0, 120);
  const none = (query, what) => {
    for (const one of document.querySelectorAll(query)) wrong.push(`${what}: ${told(one)}`);
  };
  none(":not(html, head, meta, title, link, script, body, a, header, nav, main, div, article, aside, section, h1, h2, h3, h4, h5, h6, p, span, bdi, strong, em, s, ins, del, code, pre, br, hr, blockquote, ul, ol, li, dl, dt, dd, table, thead, tbody, tr, th, td, details, summary, form, label, input, textarea, select, option, datalist, button, time)", "a stranger");
  none("script:not([src^='/assets/']), link:not([href^='/assets/']), meta[http-equiv], form:not([action^='/']), [formaction], [src]:not(script)", "a stranger");
  none(".details :is(form, input, button, select, textarea, meta, link, script, h1, h2, main, header, nav)", "in the content");
  for (const link of document.querySelectorAll("a")) {
    const href = link.getAttribute("href");
    const ours = /^(\/(?![/\\])|#(main|seal-title)$)/.test(href);
    const theirs = /^(https?:\/\/|mailto:)/.test(href) && link.target === "_blank" && link.rel === "noopener noreferrer nofollow";
    if (!ours && !(theirs && link.closest(".details, .standing"))) wrong.push(`a link: ${told(link)}`);
  }
  const attributes = new Set("lang charset name content rel type href src class id tabindex role title dir target method action for value maxlength placeholder autocapitalize autocomplete spellcheck required pattern inputmode list rows open form formnovalidate selected hidden disabled checked autofocus download colspan start datetime".split(" "));
  const ids = new Set();
  for (const one of document.getElementsByTagName("*")) {
    for (const { name, value } of one.attributes) {
      if (!attributes.has(name) && !/^(aria|data)-[a-z-]+$/.test(name)) wrong.push(`${name} on ${told(one)}`);
      if (name === "id" && (ids.has(value) || !ids.add(value))) wrong.push(`#${value} is there twice`);
    }
  }

  // Nothing that is unseen turns a text around. What is there to be copied or
  // edited has to be exact.
  const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]/;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (turning.test(text.data) && !text.parentElement.closest("textarea, .copy")) wrong.push(`turned around: ${text.parentElement.outerHTML.slice(0, 120)}`);
  }

  // Nothing leaves its place, folded or not.
  const fits = (when) => {
    if (root.scrollWidth > root.clientWidth) wrong.push(`${root.scrollWidth} px wide in ${root.clientWidth}, ${when}`);
    for (const one of document.querySelectorAll("main > *, .row, .item > *, .details, .standing, .history li, .verdicts button, #edited, .copy")) {
      const box = one.getBoundingClientRect();
      if (box.width && (box.left < -0.5 || box.right > root.clientWidth + 0.5)) wrong.push(`${one.localName}.${one.className} leaves the window, ${when}`);
    }
    // What stands in a line of ours keeps its order.
    for (const line of document.querySelectorAll(".about, .history li, .plain > li")) {
      let before = null;
      for (const part of line.children) {
        const [first] = part.getClientRects();
        if (before && first && first.top < before.bottom && first.bottom > before.top && first.left < before.left) wrong.push(`out of order, ${when}: ${line.textContent.slice(0, 120)}`);
        before = [...part.getClientRects()].at(-1) ?? before;
      }
    }
  };
  fits("as it opens");
  for (const folded of document.querySelectorAll("details:not([open])")) folded.open = true;
  fits("unfolded");

  const item = document.querySelector("article.item");
  if (item) {
    only("article.item > h1");
    only("article.item > .history");
    if (item.dataset.open === "true") only("article.item > .verdicts");
    else only("article.item > .standing");
  }
  return wrong;
}

/** Counts what was looked at, and remembers what was wrong and what was slow. */
class Tally {
  faults = [];
  pages = new Map();
  slowest = [];

  count(kind, took, name) {
    const [pages, ms] = this.pages.get(kind) ?? [0, 0];
    this.pages.set(kind, [pages + 1, ms + took]);
    this.slowest = [...this.slowest, [took, name]].sort((a, b) => b[0] - a[0]).slice(0, 5);
  }

  fault(text) {
    this.faults.push(text);
    console.error(text);
  }

  get sum() {
    return [...this.pages.values()].reduce((sum, [pages]) => sum + pages, 0);
  }
}

/** One window that goes from page to page. */
class Visitor {
  constructor(stage, page, tally) {
    Object.assign(this, { stage, page, tally, topHeight: 0 });
  }

  static async come(stage, size, tally) {
    const page = await stage.window({ as: "ann", size });
    // A dialog is noticed anyway; these would go unnoticed.
    await page.addInitScript(() => {
      for (const name of ["open", "print", "alert", "confirm", "prompt"]) {
        window[name] = () => console.error(`something ran: ${name}`);
      }
    });
    const visitor = new Visitor(stage, page, tally);
    await page.goto("/you");
    visitor.topHeight = await page.evaluate(() => document.querySelector("header.top").getBoundingClientRect().height);
    return visitor;
  }

  /** What is wrong with the page that a step leads to. */
  async check(kind, name, step, framed = true) {
    const started = Date.now();
    try {
      await step();
      const wrong = await this.page.evaluate(look, framed ? this.topHeight : 0);
      if (this.page.context().pages().length > 1) wrong.push("a window has opened");
      wrong.push(...this.stage.guard.problems.splice(0));
      if (wrong.length) this.tally.fault(`${kind}, ${name} (${this.page.url()}): ${wrong.slice(0, 4).join("; ")}`);
    } catch (error) {
      this.tally.fault(`${kind}, ${name} (${this.page.url()}): ${error.message.split("\n")[0]}`);
    }
    this.tally.count(kind, Date.now() - started, `${kind}, ${name}`);
  }

  async visit(kind, name, path, framed) {
    await this.check(kind, name, async () => {
      await this.page.goto(path);
      const there = new URL(this.page.url());
      if (there.pathname !== new URL(path, given.address).pathname) throw new Error(`led elsewhere: ${there}`);
    }, framed);
  }

  /** A list to its last page, or some pages of it. */
  async turn(kind, path, { pages = Infinity, also } = {}) {
    let page = 0;
    for (let next = path; next && page < pages; page += 1) {
      await this.visit(kind, path, next);
      const further = await this.page.evaluate(() => document.querySelector("a[rel=next]")?.getAttribute("href"));
      if (also) await also();
      next = further;
    }
  }

  /** Ticks all that is in the list and asks to approve it. */
  async review() {
    await this.check("the review of many", this.page.url(), async () => {
      await this.page.evaluate(() => {
        for (const box of document.querySelectorAll(".row input")) box.checked = true;
      });
      await Promise.all([this.page.waitForURL("**/answers"), this.page.evaluate(() => document.querySelector("#many button").click())]);
    });
  }
}

const word = (text) => text.match(/\p{L}{2,}/u)?.[0] ?? "a";

/** Pages that show again what is in their own address, or follow from it. */
const MIRRORS = [
  ["as it was sent", ([id]) => `/items/${id}/raw`],
  ["the agent in the inbox", ([, , agent]) => `/?agent=${encodeURIComponent(agent)}`],
  ["the agent on the trail", ([, , agent]) => `/trail?agent=${encodeURIComponent(agent)}`],
  ["a search for it", ([, , , text]) => `/?q=${encodeURIComponent(text)}`],
  ["a search for a word of it", ([, , , text]) => `/done?q=${encodeURIComponent(word(text))}`],
  ["connecting the agent", ([, , agent]) => `/connect?agent=${encodeURIComponent(agent)}`],
  ["the prompt", ([, , agent]) => `/agents/${encodeURIComponent(agent)}/prompt`],
];

await flow("hostile", async (stage) => {
  const items = await ask("name the items");
  const tally = new Tally();
  const started = Date.now();

  // Every delivery stands in the lists. One by one, in one of the windows, are
  // opened the huge ones, those with many payloads together, and a fifth of the
  // others; with time, all of them in both.
  const opened = items.filter(([, , , , apart], at) => given.full || apart || at % 5 === 0);
  const some = given.full ? Infinity : 4;

  async function walk(size, which) {
    const visitor = await Visitor.come(stage, { ...size, height: 600 }, tally);
    for (const [at, type] of ["output", "question", "alert", "update"].entries()) {
      const also = given.full || at % 2 === which ? () => visitor.review() : undefined;
      await visitor.turn("the list", `/?type=${type}`, { also });
    }
    if (given.full || which === 0) await visitor.turn("what is done", "/done");
    if (given.full || which === 1) await visitor.turn("agents", "/agents");
    await visitor.turn("webhooks", "/webhooks", { pages: 1 });
    await visitor.turn("the trail", "/trail", { pages: some });
    for (const [at, item] of opened.entries()) {
      if (!given.full && at % 2 !== which) continue;
      await visitor.visit("the item", item[1], `/items/${item[0]}`);
      if (!given.full && at % 6 > 1) continue;
      const [kind, path] = MIRRORS[Math.floor(at / 6) % MIRRORS.length];
      await visitor.visit(kind, item[1], path(item));
    }
  }

  await Promise.all([walk(WIDE, 0), walk(PHONE, 1)]);
  for (const [kind, [pages, ms]] of tally.pages) console.log(`  ${pages} of ${kind}, ${Math.round(ms / pages)} ms each`);
  for (const [took, name] of tally.slowest) console.log(`  slow: ${name}, ${took} ms`);
  const seconds = Math.round((Date.now() - started) / 1000);
  holds(tally.faults.length === 0, `${items.length} hostile deliveries on ${tally.sum} pages run nothing, load nothing and stay in place (${seconds} s)`, tally.faults.length);
}, given.full ? 3_600_000 : 300_000);
