/** What every engine must do, over a SLURM that really runs, and what its faults do to it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EngineError } from "../../core/jobs/engine.ts";
import {
  attemptPaths,
  readResult,
  type Written,
} from "../../tracker/jobs/attempt/attempt_folder.ts";
import { closeAttempt, watchLeases } from "../../tracker/jobs/attempt/lease.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { attemptOf, driving, engineCases, type EngineWorld } from "../tracker/jobs/engine_cases.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../fixtures/slurm_cluster.ts";
import { SlurmEngine } from "../../tracker/jobs/engines/slurm/slurm_engine.ts";

const there = await hasSlurm();
const ignored = () => ignoreUnless(there, NO_SLURM);
const cluster = there ? await startSlurm() : null;
for (const [name, value] of Object.entries(cluster?.env ?? {})) Deno.env.set(name, value);
globalThis.addEventListener("unload", () => cluster?.end());

const root = temporaryFolder("slurm-engine");

const options = {
  ...{
    partition: "low",
    account: null,
    minutes: null,
    gres: "gpu",
    extra: [] as string[],
    machine: null,
  },
  deno: Deno.execPath(),
};

const world: EngineWorld = {
  root,
  open: () => new SlurmEngine("slurm:low", options),
  ...{ patience_ms: 60_000, log_bytes: 50_000_000, queue_runs: 6, queued: 200 },
};

const detached = { sanitizeOps: false, sanitizeResources: false };

/** Drives a job as a queue does, whatever its engine says, until an attempt of it has a result. */
async function toItsEnd(line: string, at: (attempt: number) => Promise<void>): Promise<Written> {
  const { engine } = driving(world);
  const leases = watchLeases();
  const id = `driven-${crypto.randomUUID().slice(0, 8)}`;
  const down = (error: unknown) => {
    if (!(error instanceof EngineError) || error.kind !== "down") throw error;
    return null;
  };
  for (let attempt = 1; attempt < 4; attempt++) {
    const asked = attemptOf(world, line, { id, attempt });
    for (
      const end = Date.now() + world.patience_ms;
      await engine.submit(asked).catch(down) === null;
    ) {
      assert.ok(Date.now() < end, `${id}: its controller is down for ${world.patience_ms} ms`);
      await delay(200);
    }
    await at(attempt);
    for (const end = Date.now() + 2 * world.patience_ms;; await delay(200)) {
      const states = await engine.states([asked.folder]).catch(down);
      const state = states?.get(asked.folder)?.state;
      const result = readResult(asked.folder);
      if (result !== null) return result;
      // Nobody holds it: it never began and cannot any more, or who held it is gone.
      const over = state === "ended" || state === "unknown";
      if (over && (leases(asked.folder) === "stale" || closeAttempt(asked.folder))) break;
      if (state === "queued") await cluster!.tend();
      if (Date.now() > end) {
        const found = JSON.stringify([states?.get(asked.folder), leases(asked.folder)]);
        throw new Error(`${id}, attempt ${attempt}, does not come to an end: ${found}`);
      }
    }
  }
  throw new Error(`${id} has no result after three attempts`);
}

Deno.test({
  name:
    "slurm: a controller that is killed at submission, start, run or end leaves exactly one result",
  ignore: ignored(),
  ...detached,
  async fn() {
    for (const moment of [0, 50, 2000, 4300]) {
      const runs = join(root, `moments-${moment}`);
      const line = `echo began $$ >> ${runs}; sleep 4; echo ended $$ >> ${runs}`;
      if (moment === 0) await cluster!.kill("slurmctld");
      const restarted = moment === 0 ? delay(1500).then(() => cluster!.start("slurmctld")) : null;
      const result = await toItsEnd(line, async (attempt) => {
        if (attempt > 1 || moment === 0) return;
        await delay(moment);
        await cluster!.kill("slurmctld");
        await delay(500);
        await cluster!.start("slurmctld");
      });
      await restarted;
      assert.deepEqual([result.how, result.code], ["done", 0]);
      const lines = readFileSync(runs, "utf8").trim().split("\n");
      const ended = lines.filter((one) => one.startsWith("ended"));
      assert.equal(ended.length, 1, `${moment} ms: ${lines}`);
      // Whoever began and was killed did so before the next one began.
      const last = lines.at(-2)!.replace("began", "ended");
      assert.deepEqual([lines.at(-1), ended[0]], [last, last], `${moment} ms: ${lines}`);
      console.log(`killed after ${moment} ms: attempt ${result.attempt} has the result`);
    }
  },
});

Deno.test({
  name: "slurm: a node's daemon that is killed leaves what runs, and its result",
  ignore: ignored(),
  ...detached,
  async fn() {
    const { engine, said, end } = driving(world);
    const handle = await engine.submit(attemptOf(world, "echo ready; sleep 3; exit 5"));
    await said(handle, "ready");
    await cluster!.kill("slurmd");
    await delay(1000);
    await cluster!.start("slurmd");
    assert.equal((await end(handle))?.code, 5);
  },
});

Deno.test({
  name:
    "slurm: what is urgent takes the slots of what saves itself, and that is not begun again unasked",
  ignore: ignored(),
  ...detached,
  async fn() {
    const low = driving(world);
    const urgent = driving(
      world,
      new SlurmEngine("slurm:urgent", { ...options, partition: "urgent" }),
    );
    const both = { cpu: 2, gpu: 0, memory_gb: null };
    const saves = "trap 'echo saved; exit 3' INT; echo ready; while :; do sleep 0.1; done";
    const handle = await low.engine.submit(attemptOf(world, saves, { slots: both }));
    await low.said(handle, "ready");
    const other = await urgent.engine.submit(attemptOf(world, "exit 0", { slots: both }));
    assert.equal((await urgent.end(other))?.code, 0);
    const result = await low.end(handle);
    assert.deepEqual([result?.how, result?.code], ["saved", 3]);
    await delay(7000); // longer than a credential lives, after which SLURM would begin it again
    assert.match(
      readFileSync(attemptPaths(handle).log, "utf8"),
      /^ready\n(slurmstepd.*PREEMPTION.*\n)?saved\n$/,
    );
  },
});

Deno.test({
  name: "slurm: what cannot work is one sentence before anything is submitted",
  ignore: ignored(),
  ...detached,
  async fn() {
    const check = (more: Partial<typeof options>, folder = root) =>
      new SlurmEngine("slurm", { ...options, ...more }).check(folder);
    assert.equal(await check({}), null);
    await assert.rejects(
      check({ partition: "urgnt" }),
      /Unknown partition "urgnt". Did you mean "urgent"\?/,
    );
    await assert.rejects(check({}, cluster!.hidden), {
      name: "EngineError",
      message:
        `Cannot run jobs on slurm as its machines do not see ${
          cluster!.hidden
        }: keep the store in a ` +
        "folder that they share",
    });
    await assert.rejects(check({ deno: "/no/such/deno" }), /Deno or pare is not where it is here/);
    await assert.rejects(check({ extra: ["--no-such-word"] }), {
      ...{ name: "EngineError", kind: "refused" },
      message: /^Cannot submit probe-\w+ to slurm: .*no-such-word/,
    });
    const { engine, stateOf } = driving(world);
    const three = { cpu: 1, gpu: 3, memory_gb: null };
    const attempt = attemptOf(world, "exit 0", { slots: three });
    await assert.rejects(
      engine.submit(attempt),
      /needs 3 cards, of 2 that its largest machine has/,
    );
    assert.equal((await stateOf(attempt.folder)).state, "unknown");
    const { total, machine } = await engine.capacity();
    assert.deepEqual([total.cpu, total.gpu, machine], [2, 2, "slurm-low"]);
  },
});

Deno.test({
  name: "slurm: cards are given as CUDA_VISIBLE_DEVICES",
  ignore: ignored(),
  ...detached,
  async fn() {
    const { engine, said, end } = driving(world);
    const slots = { cpu: 1, gpu: 1, memory_gb: 0.5 };
    const line = 'echo "cards $CUDA_VISIBLE_DEVICES."';
    const handle = await engine.submit(attemptOf(world, line, { slots }));
    await end(handle);
    assert.match(await said(handle, "cards"), /cards [01]\./);
  },
});

// Last: a controller that is killed comes back with its books of some seconds ago, and these fill them.
engineCases("slurm", () => world, ignored);
