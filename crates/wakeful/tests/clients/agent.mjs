// An agent in Node that delivers with fetch and polls.
//
//     agent.mjs DELIVERY

import { leave, rest, tell } from "./lines.mjs";

const { WAKE_ENDPOINT: base, WAKE_AGENT_ID: agent, WAKE_API_KEY: key } = process.env;
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };

const posted = await fetch(`${base}/deliver`, {
  method: "POST",
  headers,
  body: JSON.stringify({ agent_id: agent, provider: "claude", ...JSON.parse(process.argv[2]) }),
});
if (posted.status !== 201) throw new Error(await posted.text());
const { delivery_id: id } = await posted.json();
tell("delivered", id);

for (;;) {
  const answer = await (await fetch(`${base}/response/${id}`, { headers })).json();
  if (answer.status !== "pending") {
    tell("answer", answer);
    break;
  }
  await rest(60);
}
leave();
