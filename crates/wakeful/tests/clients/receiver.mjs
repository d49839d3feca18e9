// A callback receiver in Node: collects the raw bytes, checks X-Wake-Signature,
// and only then looks inside.
//
//     receiver.mjs CERTIFICATE KEY

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

import { tell } from "./lines.mjs";

const [certificate, key] = process.argv.slice(2).map((file) => readFileSync(file));

function isGenuine(raw, claimed) {
  const digest = createHmac("sha256", process.env.WAKE_WEBHOOK_SECRET).update(raw).digest("hex");
  return timingSafeEqual(Buffer.from(`sha256=${digest}`), Buffer.from(claimed));
}

const server = createServer({ cert: certificate, key }, (request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const raw = Buffer.concat(pieces);
    const signature = request.headers["x-wake-signature"];
    const genuine = isGenuine(raw, signature);
    if (genuine) {
      const delivery_id = request.headers["x-wake-delivery-id"];
      const body = JSON.parse(raw);
      tell("verified", { signature, delivery_id, raw: raw.toString("base64"), body });
    } else {
      tell("refused", signature);
    }
    response.writeHead(genuine ? 200 : 401).end();
  });
});
server.listen(0, "127.0.0.1", () => tell("listening", server.address().port));
