/** Files whose tests sleep most of their time: until a lease ends, a server is up, a cluster ticks. Measured
 * with the machine to themselves: less than half a core. */
const WAITS: readonly string[] = [
  "tests/campaigns/board_kills.ts",
  "tests/long/demo_model.ts", // its timings wait for a quiet machine, as a user's do
  "tests/long/engine_slurm.ts",
  "tests/long/queue_slurm.ts",
  "tests/long/workers_slurm.ts",
  "tests/tracker/commands/experiments/",
  "tests/tracker/jobs/",
  "tests/tracker/serving/",
];

export function waits(path: string): boolean {
  return WAITS.some((start) => path.startsWith(start));
}
