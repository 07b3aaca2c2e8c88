import assert from "node:assert/strict";
import { simulate, Simulation } from "./simulate.ts";

const RUNS = 600;
const SIZE = { jobs: 100, kills: 20 };

const LARGE = { jobs: 400, kills: 40 };

/** Seeds that found something, when the world drew as it did then. */
const FOUND = [
  // An attempt whose engine took it, and whose answer was lost, could not be stopped.
  { seed: 66, size: SIZE },
  // Of two cores that submitted at once the second took the duplicate for a refusal.
  { seed: 11, size: SIZE },
  // What was lost before its engine's answer came held the engine's slots for ever.
  { seed: 482, size: SIZE },
  // A job began in the slots that another one was just asked to free for a P0.
  { seed: 2000459, size: LARGE },
  // Of P0s that let go more than they need a later one had the slots that were free at once.
  { seed: 1000307, size: LARGE },
  // Two cores told by turns what each had seen of an engine, until neither might decide more: a job that
  // was ready never began, an urgent one waited for an hour.
  { seed: 146000357, size: { jobs: 20, kills: 20 } },
  { seed: 61000293, size: LARGE },
];

/** States that a simulation must come to, or it shows nothing. */
const RARE = [
  "answer of an engine is lost",
  "engine is down",
  "two cores at once",
  "program dies without a result",
  "program does not save",
  "attempt started twice",
  "closed attempt started",
  "controller starts a job twice",
  "job requeued after 121 s",
  "job outlives its head",
  "job dies with its head",
  "job runs in the books alone",
  "an error for a duplicate that was accepted",
  "stop without effect while pending",
  "a refusal, and a start all the same",
  "a failed job got a remedy",
  "a job is passed as often as may be",
];

Deno.test(`${RUNS} queues of 100 jobs keep their rules over 30 days of kills and faults`, async () => {
  const reached = new Map<string, number>();
  let [events, kills, done] = [0, 0, 0];
  const began = performance.now();
  for (let seed = 1; seed <= RUNS; seed++) {
    const run = await simulate(seed, SIZE);
    for (const [what, times] of run.reached) reached.set(what, (reached.get(what) ?? 0) + times);
    events += run.events;
    kills += run.kills;
    done += run.states["done"] ?? 0;
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `${RUNS} runs, ${(RUNS / seconds).toFixed(0)} a second: ${events} events, ${kills} kills, ` +
      `${done} jobs done`,
  );
  assert.deepEqual(RARE.filter((what) => !reached.has(what)), []);
  assert.ok(kills > 15 * RUNS && done > 70 * RUNS, "too little happened");
});

Deno.test("seeds that found something find nothing any more", async () => {
  for (const { seed, size } of FOUND) await simulate(seed, size);
});

Deno.test("what a core has read, and those before it, is what the journal says", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const simulation = new Simulation(seed, SIZE);
    await simulation.run();
    for (const reader of simulation.readers) {
      if (reader !== null) assert.deepEqual(reader.queue, simulation.log.queue);
    }
  }
});

Deno.test("a seed gives the same run each time", async () => {
  const [once, twice] = [await simulate(7, SIZE), await simulate(7, SIZE)];
  assert.deepEqual(once, twice);
});
