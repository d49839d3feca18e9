// An audit by axe-core of whatever a page shows now.

import { axeSource, holds } from "./browser.mjs";

/** Gathers what is serious; the windows must be opened with `bypassCSP`, since
 * axe brings its own style, which the page's policy would rightly refuse. */
export class Audit {
  #source = axeSource();
  #found = [];
  #count = 0;

  async look(page, what, only = {}) {
    await page.evaluate(this.#source);
    const { violations } = await page.evaluate((only) => axe.run(document, { resultTypes: ["violations"], ...only }), only);
    const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const told = bad.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
    this.#found.push(...told.map((one) => `${what}: ${one}`));
    this.#count += 1;
  }

  /** So many pages were looked at, and nothing serious was found. */
  end(expected) {
    for (const one of this.#found) console.error(one);
    holds(this.#found.length === 0 && this.#count === expected, `${this.#count} audits find nothing serious`, this.#found.length, expected);
  }
}
