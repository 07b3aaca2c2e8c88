/** What any engine must do above all, over a Ray head that really runs; tests/campaigns has the rest. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
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
  name: "ray: a submission whose answer is lost has happened, and is not made twice",
  ignore: ignored(),
  ...detached,
  async fn() {
    const { engine, end } = driving(world);
    const runs = join(world.root, "lost");
    const attempt = attemptOf(world, `echo began >> ${runs}`);
    cluster!.loseAnswers(3);
    // The client repeats what was posted on a connection that it had: the head knows it by its id then.
    await engine.submit(attempt).catch((error) => assert.equal(error.kind, "down"));
    cluster!.loseAnswers(0);
    assert.deepEqual(await engine.find(attempt.id, attempt.attempt), [attempt.folder]);
    await engine.submit(attempt);
    assert.equal((await end(attempt.folder))?.code, 0);
    assert.equal(readFileSync(runs, "utf8"), "began\n");
  },
});

Deno.test({
  name: "ray: what cannot work is one sentence before anything is submitted",
  ignore: ignored(),
  ...detached,
  async fn() {
    assert.equal(await cluster!.engine().check(world.root), null);
    await assert.rejects(cluster!.engine("0".repeat(32)).check(world.root), {
      name: "EngineError",
      message:
        "Cannot ask ray for its jobs as ray does not take the token of RAY_AUTH_TOKEN: give the " +
        "one that its head was started with",
    });
    const { engine } = driving(world);
    const two = { cpu: 1, gpu: 2, memory_gb: null };
    const attempt = attemptOf(world, "exit 0", { slots: two });
    await assert.rejects(
      engine.submit(attempt),
      /needs 2 cards, of 1 that its largest machine has/,
    );
    const { total } = await engine.capacity();
    assert.deepEqual([total.cpu, total.gpu], [2, 1]);
  },
});

// Last: what was cancelled while it waited stays in the head's line until it has begun and seen that.
engineCases("ray", () => world, ignored, "first");
