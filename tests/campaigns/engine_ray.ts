/** What every engine must do beyond tests/long/engine_ray.ts, and what a head's death does to it. */
import assert from "node:assert/strict";
import { isAlive } from "../../python-backends/process_owner.ts";
import { readResult } from "../../tracker/jobs/attempt/attempt_folder.ts";
import { readLease } from "../../tracker/jobs/attempt/lease.ts";
import { hasRay, NO_RAY, startRay } from "../fixtures/ray_cluster.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { attemptOf, driving, engineCases, type EngineWorld } from "../tracker/jobs/engine_cases.ts";

const there = await hasRay();
const ignored = () => ignoreUnless(there, NO_RAY);
const cluster = there ? await startRay() : null;
globalThis.addEventListener("unload", () => cluster?.end());

const world: EngineWorld = {
  root: temporaryFolder("ray-engine"),
  open: () => cluster!.engine(),
  ...{ patience_ms: 90_000, log_bytes: 50_000_000, queue_runs: 2, queued: 20 },
};
const detached = { sanitizeOps: false, sanitizeResources: false };

Deno.test({
  name: "ray: a head that dies forgets its jobs; what runs ends with its result, or dies with it",
  ignore: ignored(),
  ...detached,
  async fn() {
    const { engine, said, stateOf, gone, end } = driving(world);
    const handle = await engine.submit(attemptOf(world, "echo pid $$ ready; sleep 30; exit 6"));
    const pid = Number(/pid (\d+)/.exec(await said(handle, "ready"))![1]);
    await cluster!.kill();
    await assert.rejects(engine.states([handle]), { name: "EngineError", kind: "down" });
    await cluster!.start();
    // A job's supervisor goes and leaves the wrapper; one that is killed before it can has a watcher, which
    // kills the wrapper.
    const lives = isAlive(readLease(handle)!);
    const { state } = await stateOf(handle);
    if (lives && readResult(handle) === null) assert.equal(state, "unknown");
    const result = await end(handle);
    assert.ok(result === null ? !lives : result.code === 6, `it lives: ${lives}`);
    await gone(pid);
  },
});

// Last: what was cancelled while it waited stays in the head's line until it has begun and seen that.
engineCases("ray", () => world, ignored, "others");
