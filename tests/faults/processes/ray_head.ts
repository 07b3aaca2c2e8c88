import assert from "node:assert/strict";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { readResult } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import type { RayCluster } from "../../fixtures/ray_cluster.ts";
import { attemptOf, driving, type EngineWorld } from "../../tracker/jobs/engine_cases.ts";

/** A head that dies forgets its jobs; what runs ends with its result, or dies with it. */
export async function headDies(world: EngineWorld, cluster: RayCluster): Promise<void> {
  const { engine, said, stateOf, gone, end } = driving(world);
  const handle = await engine.submit(attemptOf(world, "echo pid $$ ready; sleep 30; exit 6"));
  const pid = Number(/pid (\d+)/.exec(await said(handle, "ready"))![1]);
  await cluster.kill();
  await assert.rejects(engine.states([handle]), { name: "EngineError", kind: "down" });
  await cluster.start();
  // A job's supervisor goes and leaves the wrapper; one that is killed before it can has a watcher, which
  // kills the wrapper.
  const lives = isAlive(readLease(handle)!);
  const { state } = await stateOf(handle);
  if (lives && readResult(handle) === null) assert.equal(state, "unknown");
  const result = await end(handle);
  assert.ok(result === null ? !lives : result.code === 6, `it lives: ${lives}`);
  await gone(pid);
}
