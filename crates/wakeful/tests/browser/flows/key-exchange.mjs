// How Chromium, whose TLS is not ours, exchanges keys with the server.

import { flow, same } from "./browser.mjs";

await flow("key-exchange", async (stage) => {
  const page = await stage.window({ ignoreHTTPSErrors: true });
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const answered = new Promise((resolve) => session.once("Network.responseReceived", resolve));
  await page.goto("/sign-in");
  const { protocol, keyExchangeGroup } = (await answered).response.securityDetails;
  same([protocol, keyExchangeGroup], ["TLS 1.3", "X25519MLKEM768"], "a browser's keys are exchanged so that no quantum computer undoes it");
});
