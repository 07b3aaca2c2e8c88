/** Queues simulated for minutes: other seeds than the short test's. */
import assert from "node:assert/strict";
import { runSeeds, type SeedsRun } from "../core/jobs/simulation/run_seeds.ts";
import { rounds } from "../fixtures/campaign.ts";

const SECONDS = rounds(60, 600);
/** Most queues are small: what goes wrong in one is found sooner, and read more easily. */
const SIZES = [{ jobs: 20, kills: 20 }, { jobs: 100, kills: 20 }, { jobs: 400, kills: 40 }];

const FROM = 1_000_000;

function sum(ran: readonly SeedsRun[], what: "runs" | "events"): number {
  return ran.reduce((sum, one) => sum + one[what], 0);
}

Deno.test(`queues keep their rules for ${SECONDS} s of seeds`, async () => {
  const ran = await runSeeds({ from: FROM, sizes: SIZES, seconds: SECONDS, most: Infinity });
  assert.deepEqual(ran.flatMap(({ broken }) => broken ?? []), []);
  const [runs, events] = [sum(ran, "runs"), sum(ran, "events")];
  console.log(`${runs} seeds from ${FROM} on ${ran.length} threads: ${events} events`);
  assert.ok(runs > SECONDS, "too few runs to tell anything");
});
