import { execa } from "execa";
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type ArtifactMeta,
  openArtifactStore,
} from "../../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../../tracker/ground/storage/file_hash.ts";
import { storageFault } from "../../../../tracker/ground/storage/storage_error.ts";
import { openStore, rebuildDatabase } from "../../../../tracker/store/store.ts";
import { contents } from "../../../fixtures/stores/contents.ts";
import { fill, mountDisk, unlessMountable } from "../../../fixtures/small_disk.ts";
import { numbered } from "../../../fixtures/stores/kill_rounds.ts";
import { AT, studyRecords } from "../../../fixtures/stores/records.ts";

/** points_test.ts and store_damage_test.ts limit a file's size: the same write fails in the same place. */
const ignore = await unlessMountable();

Deno.test({
  name: "A journal on a full disk refuses in a sentence, keeps what it acknowledged, and goes on",
  ignore,
  async fn() {
    // Room for two indexes, which a rebuilding needs: one of these studies takes 13 MB, and more where a
    // slow machine commits it in more parts.
    await using disk = await mountDisk("64m");
    const root = join(disk.path, "store");
    await using store = await openStore(root, { write: true });
    await store.record(numbered(0));
    await store.flush();
    let kept = 1;
    for (let turn = 0; turn < 3; turn++) { // full, room again, full again
      const filler = fill(disk.path, 20_000);
      const failed = await (async () => {
        for (;;) {
          try {
            await store.record(numbered(kept));
            kept++;
          } catch (error) {
            return error as Error;
          }
        }
      })();
      assert.match(failed.message, /Cannot append .* as the disk is full; free some space/);
      await Deno.remove(filler);
      await store.record(numbered(kept++));
    }
    const { caught_up, error } = await store.flush();
    assert.ok(caught_up, error ?? "");
    const { rows } = await store.query(
      `SELECT count(*) AS n, count(DISTINCT n) AS different, max(n) AS last FROM (
          SELECT value::BIGINT AS n FROM measurements UNION ALL SELECT evidence::BIGINT FROM alerts)`,
    );
    assert.deepEqual(rows, [{ n: kept, different: kept, last: kept - 1 }]);
    assert.ok(kept > 60, `only ${kept} events fitted`);
  },
});

Deno.test({
  name: "An index that has no room waits, says so, and catches up when there is room again",
  ignore,
  async fn() {
    // Room for two indexes, which a rebuilding needs: one of these studies takes 13 MB, and more where a
    // slow machine commits it in more parts.
    await using disk = await mountDisk("64m");
    const root = join(disk.path, "store");
    await using store = await openStore(root, { write: true });
    await store.record(numbered(0));
    await store.flush();
    const most = fill(disk.path, 300_000);
    using _quiet = store.pauseSink();
    for (const study of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      for (const record of studyRecords(study)) await store.record(record);
    }
    const rest = fill(disk.path);
    const full = await store.flush();
    assert.equal(full.caught_up, false);
    assert.match(full.error ?? "", /No space left|disk is full/);
    await Deno.remove(most);
    await Deno.remove(rest);
    const after = await store.flush();
    assert.ok(after.caught_up, after.error ?? "");
    const stands = await contents(store);
    await rebuildDatabase(store);
    assert.deepEqual(stands, await contents(store));
  },
});

Deno.test({
  name: "An index that a full disk has no room to begin leaves nothing of itself, however often",
  ignore,
  async fn() {
    await using disk = await mountDisk("32m");
    const root = join(disk.path, "store");
    await using store = await openStore(root, { write: true });
    using _quiet = store.pauseSink();
    await store.record(numbered(0));
    const filler = fill(disk.path, 4_096);
    for (let turn = 0; turn < 3; turn++) {
      const { caught_up, error } = await store.flush();
      assert.equal(caught_up, false);
      assert.match(error ?? "", /No space left|disk is full/);
      const names = [...Deno.readDirSync(root)].map(({ name }) => name).sort();
      assert.deepEqual(names, ["runs", "store.json"]);
    }
    await Deno.remove(filler);
    const { caught_up, error, set_aside } = await store.flush();
    assert.deepEqual([caught_up, error, set_aside], [true, null, null]);
  },
});

Deno.test({
  name: "A store on a disk that nobody writes is read as far as its index is, and that is said",
  ignore,
  async fn() {
    await using disk = await mountDisk("32m");
    const root = join(disk.path, "store");
    {
      await using store = await openStore(root, { write: true });
      await store.record(numbered(1));
      await store.flush();
    }
    const [run = ""] = [...Deno.readDirSync(join(root, "runs"))].map(({ name }) => name);
    const journal = join(root, "runs", run, "journal.jsonl");
    const whole = await Deno.readFile(journal);
    await Deno.writeFile(journal, whole, { append: true }); // a record that no index has
    await execa("mount", ["-o", "remount,ro", disk.path]);
    await using reading = await openStore(root, { write: false });
    const { rows, stale } = await reading.query("SELECT count(*) AS n FROM alerts");
    assert.deepEqual(rows, [{ n: 1 }]);
    assert.match(
      stale ?? "",
      /^what was recorded last is not in the answer as the index cannot be/,
    );
  },
});

const META: ArtifactMeta = {
  action_key: sha256Text("full disk"),
  parent_id: null,
  action: null,
  formula_bytes: null,
  weight_bits: 4,
  activation_bits: null,
  verification: null,
  created_at: AT,
};

Deno.test({
  name: "An artifact that finds no room leaves nothing half, and is kept when there is room again",
  ignore,
  async fn() {
    await using disk = await mountDisk("4m");
    using store = await openArtifactStore(join(disk.path, "artifacts"));
    const directory = await store.begin();
    await Deno.writeFile(join(directory, "model.safetensors"), new Uint8Array(1_000_000));
    const filler = fill(disk.path);
    await assert.rejects(
      store.commit(directory, META),
      (error) => storageFault(error)?.kind === "no_room",
    );
    assert.equal(await store.find(META.action_key), null);
    assert.deepEqual(await store.list(), []);
    await Deno.remove(filler);
    const kept = await store.commit(directory, META);
    assert.deepEqual(await store.verifyChecksums(kept), []);
    assert.deepEqual((await store.find(META.action_key))?.artifact_id, kept.artifact_id);
  },
});
