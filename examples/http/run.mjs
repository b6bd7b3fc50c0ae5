// Starts a run over the HTTP interface, shows its events as they come, approves what waits, and prints the answer.
//
//     callsheet serve --port 4000 &
//     export CALLSHEET_TOKEN=$(callsheet serve tokens add example --may approve)
//     node examples/http/run.mjs "Note the level of the water in level.md."
//
// Needs nothing but Node 18.

import { randomUUID } from "node:crypto";

const api = process.env.CALLSHEET_API ?? "http://127.0.0.1:4000/api/v1";
const authorization = { Authorization: `Bearer ${process.env.CALLSHEET_TOKEN}` };

/** One request. A refusal says what is wrong and what to do. */
async function call(path, body) {
  const response = await fetch(api + path, {
    method: body ? "POST" : "GET",
    headers: { ...authorization, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.detail} ${answer.advice ?? ""}`);
  return answer;
}

/** The events of a run, each once, as JSON Lines. */
async function* events(run) {
  const response = await fetch(`${api}/runs/${run}/events?follow=true`, { headers: authorization });
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) yield JSON.parse(line);
  }
}

/** Shows every gate that waits, and approves it. A real program would ask somebody. */
async function approve(run) {
  const { gates, revision } = await call(`/runs/${run}/waiting`);
  for (const gate of gates) console.log(`${gate.kind}: ${gate.task ?? "the plan"}\n${gate.diff ?? ""}`);
  if (gates.length > 0) {
    // The key makes it safe to send the order again. The revision says what was seen.
    await call(`/runs/${run}/approve`, { key: randomUUID(), revision, gates: gates.map((gate) => gate.gate) });
  }
}

const request = process.argv.slice(2).join(" ") || "What is this project about?";
const { run } = await call("/runs", { key: randomUUID(), request });
for await (const event of events(run)) {
  console.log(`${event.n} ${event.event}`);
  if (event.event === "started" && event.effect.gate) await approve(run);
  if (event.event === "run_concluded" || event.event === "run_waiting") break;
}
console.log((await call(`/runs/${run}/result`)).answer);
process.exit(0);
