/** What every engine must do beyond tests/long/engine_ray.ts, and what a head's death does to it. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { readResult } from "../../tracker/jobs/attempt/attempt_folder.ts";
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
  name: "ray: a head that dies forgets its jobs, and what runs ends with its result",
  ignore: ignored(),
  ...detached,
  async fn() {
    const { engine, said, stateOf, end } = driving(world);
    const handle = await engine.submit(attemptOf(world, "echo ready; sleep 30; exit 6"));
    await said(handle, "ready");
    await cluster!.kill();
    await assert.rejects(engine.states([handle]), { name: "EngineError", kind: "down" });
    await cluster!.start();
    const { state } = await stateOf(handle);
    if (readResult(handle) === null) assert.equal(state, "unknown");
    for (let tries = 0; tries < 400 && readResult(handle) === null; tries++) await delay(100);
    assert.equal((await end(handle))?.code, 6);
  },
});

// Last: what was cancelled while it waited stays in the head's line until it has begun and seen that.
engineCases("ray", () => world, ignored, "others");
