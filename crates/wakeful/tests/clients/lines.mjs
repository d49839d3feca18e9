// How a client and the test that started it talk: one line at a time.

import { createInterface } from "node:readline";

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export function tell(word, value) {
  process.stdout.write(`${word} ${JSON.stringify(value)}\n`);
}

/** Lasts until the test says so. */
export async function rest(seconds) {
  tell("resting", seconds);
  const { done } = await input.next();
  if (done) throw new Error("the test is gone");
}

export function leave() {
  process.stdin.destroy();
}
