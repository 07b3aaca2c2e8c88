/** Many waiting points, and a mirror that dies: neither may end a study, and nothing is lost. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JournalRecord } from "../../../../core/mod.ts";
import type { MirrorMemory } from "../../../../tracker/exchange/mlflow/mirror_child.ts";
import { readProgress, targetName } from "../../../../tracker/exchange/mlflow/mirror_progress.ts";
import { startMirror } from "../../../../tracker/exchange/mlflow/start_mirror.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { type Batch, startFakeServer } from "./fake_server.ts";
import { logPoints, seenPoints, syncBounded } from "./many_points.ts";
import { mirrorTo } from "./mirror_world.ts";

Deno.test("pare mlflow sync of a million waiting points needs a bounded memory", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await logPoints(root, 1_000_000);
    const seen = seenPoints(500_000);
    const server = startFakeServer(({ metrics }) => {
      seen.take(metrics);
      return null;
    });
    // As objects, all at once, they took more than twice this heap.
    const { code, said, peak_mb } = await syncBounded(directory, {
      ...{ root, uri: server.uri, heap_mb: 100 },
    });
    await server.stop();
    assert.equal(code, 0, said.slice(-2_000));
    assert.deepEqual(seen.count(), { there: 1_000_000, again: 0 });
    assert.ok(peak_mb < 400, `${peak_mb} MB`);
  }));

Deno.test("a mirror that is stopped within a record of points goes on there", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const to = await logPoints(root, 100_000); // records of 61,440
    const seen = seenPoints(50_000);
    let [batches, broken] = [0, 25];
    const server = startFakeServer(({ metrics }) => {
      batches += 1;
      if (batches > broken) return new Response("broken", { status: 500 });
      seen.take(metrics);
      return null;
    });
    const first = mirrorTo(server.uri, root);
    first.follow("long", null);
    await assert.rejects(first.pass({ long: to }), /500/);
    const place = readProgress(root, targetName(server.uri, "pare"), "long")!;
    assert.deepEqual([place.offset, place.points], [0, 20_000]);
    broken = Infinity;
    const second = mirrorTo(server.uri, root);
    second.follow("long", null);
    await second.pass({ long: to });
    await server.stop();
    // What was on its way when the server broke comes twice: one step at most.
    assert.deepEqual(seen.count(), { there: 100_000, again: 5_000 });
    const end = readProgress(root, targetName(server.uri, "pare"), "long")!;
    assert.deepEqual([end.offset, end.points], [to, 0]);
  }));

/** A record that takes much memory as an object: 20 MB of JSON. */
function large(at: string): JournalRecord {
  const layers = Array.from({ length: 400_000 }, (_, n) => ({ layer: `layers.${n}.q`, value: n }));
  const own = { study_id: "live", trial_id: "live/t01", artifact_id: "a", unit: "1" };
  return { type: "layer_sensitivities", at, ...own, metric: "cosine", layers };
}

const ENDS: Record<string, { memory: MirrorMemory; kill: boolean; reason: RegExp }> = {
  "runs out of its heap": {
    memory: { heap_mb: 48, resident_mb: 4_000 },
    kill: false,
    reason: /had no memory left \(48 MB of heap/,
  },
  "grows beyond its bound": {
    memory: { heap_mb: 512, resident_mb: 20 },
    kill: false,
    reason: /had no memory left \(512 MB of heap, 20 MB in all\)/,
  },
  "is killed": {
    memory: { heap_mb: 512, resident_mb: 4_000 },
    kill: true,
    reason: /ended: it was ended by SIGKILL(\. The study|$)/,
  },
};

for (const [what, { memory, kill, reason }] of Object.entries(ENDS)) {
  Deno.test(`a mirror that ${what} ends alone: the study goes on, it is said once, sync does the rest`, () =>
    inDirectory(async (directory) => {
      const root = join(directory, "store");
      const batches: Batch[] = [];
      const server = startFakeServer((batch) => {
        batches.push(batch);
        return null;
      });
      await using store = await openStore(root, { write: true });
      const said: string[] = [];
      const mirror = startMirror({
        ...{ root, reports: join(root, "reports"), uri: server.uri, variables: {} },
        ...{ experiment: "pare", checkpoints: "front", max_file_bytes: 1e9, memory },
        onSaid: (sentence) => said.push(sentence),
      });
      const study = mirror.attach(store, { study_id: "live", isNew: true });
      const at = "2026-03-01T12:00:00.000Z";
      if (kill) Deno.kill(mirror.pid, "SIGKILL");
      await study.record(large(at));
      const { behind, trouble } = await mirror.finish(60_000);
      assert.equal(behind, true);
      assert.match(trouble!, reason);
      // The study records on, and waits for nobody.
      await study.record({
        ...{ type: "alert", at, study_id: "live", trial_id: "live/t01" },
        ...{ condition: "afterwards", evidence: "it lives", action: "none" },
      });
      assert.equal((await mirror.finish(60_000)).behind, true);
      assert.equal(said.length, 1, said.join("\n"));
      assert.match(said[0]!, reason);
      assert.match(
        said[0]!,
        /The study goes on; npx -y deno task pare mlflow sync mirrors the rest/,
      );
      await mirror.stop();
      const later = mirrorTo(server.uri, root);
      later.follow("live", null);
      await later.pass({ live: store.endOf("live") });
      await server.stop();
      const tags = batches.flatMap((batch) => batch.tags.map(({ key }) => key));
      assert.deepEqual(tags, ["pare.alert.afterwards"]);
    }));
}
