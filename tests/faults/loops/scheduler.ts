/** The queue's seeded simulation: a point is a whole queue over 30 days of kills and faults. */
import { injecting, type Loop, sometimes } from "../loop.ts";
import { simulate } from "../../core/jobs/simulation/simulate.ts";

/** Most queues are small: what goes wrong in one is found sooner, and read more easily. */
const SMALL = { jobs: 20, kills: 20 };
const SIZES = [SMALL, SMALL, { jobs: 100, kills: 20 }, SMALL, SMALL, { jobs: 400, kills: 40 }];
const POINTS = 600;

/** A seed's points are queues that no other seed has. */
const queueSeed = (seed: number, n: number): number => 1_000_000 * seed + n;

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
          const { reached } = await simulate(queueSeed(seed, n), size);
          for (const name of reached.keys()) sometimes(name);
        });
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};
