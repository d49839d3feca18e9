// A link to a server on this machine or in this network is shown and cannot be
// clicked. This is a courtesy: what holds if it is followed is in elsewhere.mjs.

import { deliver, flow, given, holds, same } from "./browser.mjs";

const { port } = new URL(given.address);
const other = Number(port) === 8080 ? 8081 : 8080;
const NEAR = [
  `http://127.0.0.1:${other}/`, `http://localhost:${other}/a`, `http://[::1]:${other}/`, "http://127.1.2.3/", "http://app.localhost:3000/",
  "http://10.1.2.3/", "http://172.16.0.9:81/", "http://192.168.1.1/", "http://169.254.169.254/latest/", "http://[fd00::1]/", "http://[fe80::1]/",
  "http://0.0.0.0:9/", "http://[::ffff:127.0.0.1]:9/", "https://127.0.0.1:9/", "http://2130706433/", "http://0x7f.1/", "http://127.0.0.1.:9/",
];
const FAR = ["https://example.com/report", "http://198.51.100.7/", "https://localhost.example.com/"];

await flow("courtesy", async (stage) => {
  const details = [...NEAR, ...FAR].map((address, at) => `- [Report ${at}](${address}) <${address}>`).join("\n");
  const id = await deliver({ headline: "Read these", details, details_format: "markdown" });
  const page = await stage.window({ as: "ann" });
  await page.goto(`/items/${id}`);
  const text = await page.locator("#details").innerText();
  const links = await page.locator("#details a[href]").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  for (const address of NEAR) {
    const host = new URL(address).host;
    holds(!links.some((link) => new URL(link).host === host), `a link to ${address} cannot be clicked`, links);
    holds(text.includes(address) || text.includes(new URL(address).href), `and is shown: ${address}`);
  }
  for (const address of FAR) holds(links.includes(address), `a link to ${address} can be clicked`, links);
  same(await page.locator("#details a[href^='/']").count(), 0, "no link of an agent leads into our pages");
});
