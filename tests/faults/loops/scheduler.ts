/** The queue's seeded simulation: a point is a whole queue over 30 days of kills and faults. */
import { holdInvariants } from "../invariants.ts";
import { injecting, type Loop, sometimes } from "../loop.ts";
import { type Simulated, Simulation, type Size } from "../../core/jobs/simulation/simulate.ts";

/** Most queues are small: what goes wrong in one is found sooner, and read more easily. */
const SMALL = { jobs: 20, kills: 20 };
const SIZES = [SMALL, SMALL, { jobs: 100, kills: 20 }, SMALL, SMALL, { jobs: 400, kills: 40 }];
const POINTS = 600;

/** A seed's points are queues that no other seed has. */
const queueSeed = (seed: number, n: number): number => 1_000_000 * seed + n;

/** Transactions between two looks at the whole queue. */
const LOOK = 25;

/** A run that is held against the invariants of every loop, too, beside the simulation's own rules. */
async function simulateHolding(seed: number, size: Size): Promise<Simulated> {
  const simulation = new Simulation(seed, size);
  const { log } = simulation;
  const append = log.append.bind(log);
  let transactions = 0;
  let broken: unknown = null;
  log.append = (events) => {
    append(events);
    if (++transactions % LOOK !== 0) return;
    holdInvariants({ queue: log.queue }).catch((error) => broken ??= error);
  };
  const simulated = await simulation.run();
  if (broken !== null) throw broken;
  await holdInvariants({ queue: log.queue });
  return simulated;
}

export const scheduler: Loop = {
  name: "scheduler",
  about:
    "a simulated queue over 30 days: engines that lose, double and refuse, a core that is killed",
  reaches: [
    "answer of an engine is lost",
    "engine is down",
    "two cores at once",
    "program dies without a result",
    "attempt started twice",
    "controller starts a job twice",
    "job outlives its head",
    "an error for a duplicate that was accepted",
    "a refusal, and a start all the same",
  ],
  open: (seed) =>
    Promise.resolve({
      points: POINTS,
      at: async (n) => {
        if (n >= POINTS) return undefined;
        const size = SIZES[n % SIZES.length]!;
        const call = `queue ${queueSeed(seed, n)} of ${size.jobs} jobs, ${size.kills} kills`;
        return await injecting({ file: "queue", call, kind: "survivable" }, async () => {
          const { reached } = await simulateHolding(queueSeed(seed, n), size);
          for (const name of reached.keys()) sometimes(name);
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
