/** What jobs come to in the simulator is what they came to on engines that really ran them. */
import assert from "node:assert/strict";
import { type Script, SCRIPTS, seenLine } from "../../../tracker/jobs/engine_scripts.ts";
import { SimEngine } from "./engines.ts";
import { FAULTS_END, machine, SECOND, World } from "./world.ts";

const ONE = { cpu: 1, gpu: 0, memory_gb: null };
const ALL = { cpu: 2, gpu: 0, memory_gb: null };
const LONG_SECONDS = 100_000;

/** Lives a script through in a world without faults. */
async function simulated(
  kind: "local" | "slurm" | "ray",
  { program, steps }: Script,
  seed: number,
) {
  const world = new World(seed);
  world.now = FAULTS_END;
  const engine = new SimEngine("engine", kind, world, machine("a", ALL));
  const long = program === "long" || program === "deaf";
  const outcome = program === "broken" ? "broken" : program === "bad input" ? "bad_input" : "done";
  const truth = { passing: 0, left: long ? LONG_SECONDS : 1 };
  world.truths.set("EXP-001", { ...truth, outcome, deaf: program === "deaf" });
  world.truths.set("EXP-002", { outcome: "done", passing: 0, deaf: false, left: LONG_SECONDS });
  const asked = (job: string, slots: typeof ONE) => ({
    ...{
      id: `pare-1f2e3d4c-${job}`,
      attempt: 1,
      argv: [],
      folder: "",
      env: {},
      slots,
      seconds: null,
    },
  });
  const [job, holder] = [asked("exp-001", ONE), asked("exp-002", ALL)];
  const [handle, held] = [job, holder].map(({ id }) => `${id}-1`) as [string, string];
  const stateOf = async (one: string) => (await engine.states([one])).get(one)!;
  const until = async (one: string, state: string) => {
    for (let tries = 0; (await stateOf(one)).state !== state; tries++) {
      assert.ok(tries < 500, `${one} is not ${state}: ${JSON.stringify(await stateOf(one))}`);
      world.pass(world.now + SECOND / 2);
    }
  };
  const doing: Record<Script["steps"][number], () => Promise<unknown>> = {
    closed: () => Promise.resolve(world.close("EXP-001", 1)),
    submitted: () => engine.submit(job),
    async queued() {
      await engine.submit(holder);
      await until(held, "running");
      await engine.submit(job);
    },
    async running() {
      await engine.submit(job);
      await until(handle, "running");
    },
    ended: () => until(handle, "ended"),
    saved: () => engine.save(handle),
    cancelled: () => engine.cancel(handle),
    killed: () => Promise.resolve(world.kill(world.living("EXP-001")!)),
    room: () => engine.cancel(held),
  };
  for (const step of steps) await doing[step]();
  await until(handle, "ended");
  world.pass(world.now + 100 * SECOND); // leases are stale then
  return seenLine(await stateOf(handle), world.look("EXP-001", 1));
}

const SEEDS = 20;

for (const kind of ["local", "slurm", "ray"] as const) {
  Deno.test(`twenty scripts end in the simulator as on a ${kind} engine that ran them`, async () => {
    assert.equal(SCRIPTS.length, 20);
    for (const script of SCRIPTS) {
      const seen = new Set<string>();
      for (let seed = 1; seed <= SEEDS; seed++) seen.add(await simulated(kind, script, seed));
      const what = `${kind}: ${script.program}, ${script.steps.join(", ")}`;
      assert.ok(
        seen.has(script.seen),
        `${what}: ${script.seen} is none of ${[...seen].join("; ")}`,
      );
    }
  });
}
