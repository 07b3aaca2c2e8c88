/** Millions of waiting points are mirrored within a bound on memory, and after kills. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { startFakeServer } from "../tracker/exchange/mlflow/fake_server.ts";
import { logPoints, seenPoints, syncBounded } from "../tracker/exchange/mlflow/many_points.ts";

const POINTS = 8_000_000;
const HEAP_MB = 160;
/** What one kill sends again at most: a step. */
const STEP = 10_000;

Deno.test(`pare mlflow sync of ${POINTS} waiting points with ${HEAP_MB} MB of heap, killed twice on its way`, () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const bytes = await logPoints(root, POINTS);
    const seen = seenPoints(POINTS / 2);
    let batches = 0;
    let kill = new AbortController();
    const server = startFakeServer(({ metrics }) => {
      seen.take(metrics);
      batches += 1;
      if (batches === 333 || batches === 5_000) kill.abort();
      return null;
    });
    const started = performance.now();
    const sync = () => {
      kill = new AbortController();
      return syncBounded(directory, {
        ...{ root, uri: server.uri, heap_mb: HEAP_MB, signal: kill.signal },
      });
    };
    for (const _ of [1, 2]) assert.ok(Number.isNaN((await sync()).peak_mb));
    const { code, said, peak_mb } = await sync();
    const seconds = (performance.now() - started) / 1000;
    await server.stop();
    assert.equal(code, 0, said.slice(-2_000));
    const { there, again } = seen.count();
    console.log(
      `${there} points of a journal of ${(bytes / 1e6).toFixed(0)} MB in ${
        seconds.toFixed(0)
      } s, ` +
        `${again} of them twice; at most ${peak_mb} MB resident`,
    );
    assert.equal(there, POINTS);
    assert.ok(again <= 2 * STEP, `${again} points came again`);
    assert.ok(peak_mb < 500);
  }));
