/** Queues simulated for minutes: other seeds than the short test's. */
import assert from "node:assert/strict";
import { simulate } from "../core/jobs/simulation/simulate.ts";
import { rounds } from "../fixtures/campaign.ts";

const SECONDS = rounds(60, 600);
/** Most queues are small: what goes wrong in one is found sooner, and read more easily. */
const SIZES = [{ jobs: 20, kills: 20 }, { jobs: 100, kills: 20 }, { jobs: 400, kills: 40 }];

Deno.test(`queues keep their rules for ${SECONDS} s of seeds`, async () => {
  const began = performance.now();
  let [seed, events] = [1_000_000, 0];
  for (; performance.now() - began < 1000 * SECONDS; seed++) {
    const run = await simulate(seed, SIZES[seed % SIZES.length]!);
    events += run.events;
  }
  console.log(`seeds from 1,000,000 to ${seed - 1}: ${events} events`);
  assert.ok(seed > 1_000_000 + SECONDS, "too few runs to tell anything");
});
