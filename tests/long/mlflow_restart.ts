import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { startMlflowServer } from "../../tracker/exchange/mlflow/server.ts";
import { startMirror } from "../../tracker/exchange/mlflow/start_mirror.ts";
import { openStore } from "../../tracker/store/store.ts";
import { mirrorTo, recordStudy, runsOf } from "../tracker/exchange/mlflow/mirror_world.ts";

Deno.test("the MLflow server is killed in the middle of a study and comes back: all is there, once", async () => {
  const directory = await Deno.makeTempDir();
  const served = join(directory, "server");
  const first = await startMlflowServer({ directory: served, port: 0 });
  const port = Number(new URL(first.uri).port);
  const root = join(directory, "store");
  const whole = join(directory, "whole");
  const { records, end } = await recordStudy(whole, "s1", {}, [], { max_trials: 6 });
  const half = Math.floor(records.length / 2);
  const mirror = startMirror({
    ...{ root, reports: join(directory, "reports"), uri: first.uri, variables: {} },
    ...{ experiment: "pare", checkpoints: "front", max_file_bytes: 1e6 },
  });
  const opened = await openStore(root, { write: true });
  try {
    const store = await mirror.attach(opened, { study_id: "s1", isNew: true });
    for (const record of records.slice(0, half)) await store.record(record);
    // Killed while it is at work on the first half, without a chance to finish anything.
    const working = mirror.finish(60_000);
    await new Promise((resolve) => setTimeout(resolve, 300));
    process.kill(-first.pid, "SIGKILL");
    await first.exited;
    const waits: number[] = [];
    for (const record of records.slice(half)) {
      const started = performance.now();
      await store.record(record);
      waits.push(performance.now() - started);
    }
    const middle = waits.sort((a, b) => a - b)[Math.floor(waits.length / 2)]!;
    assert.ok(middle < 250, `half of the records waited longer than ${middle} ms`);
    await working;
    assert.equal((await mirror.finish(60_000)).behind, true);

    const second = await startMlflowServer({ directory: served, port });
    try {
      const { behind, trouble, said } = await mirror.finish(120_000);
      assert.deepEqual([behind, trouble, said], [false, null, 0]);
      const runs = await runsOf(second.uri, "s1");

      const once = mirrorTo(second.uri, whole, { experiment: "undisturbed" });
      once.follow("s1", null);
      await once.pass({ s1: end });
      assert.deepEqual(runs, await runsOf(second.uri, "s1", "undisturbed"));
    } finally {
      await second.stop();
    }
  } finally {
    await mirror.stop();
    await opened.close();
    await first.stop();
    await Deno.remove(directory, { recursive: true });
  }
});
