import assert from "node:assert/strict";
import { execa } from "execa";
import { join } from "node:path";
import { type ArtifactMeta, openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { sha256Text } from "../../../tracker/artifacts/file_hash.ts";
import { isDiskFull } from "../../../tracker/store/storage_error.ts";
import { openStore, rebuildDatabase } from "../../../tracker/store/store.ts";
import { contents } from "../../fixtures/stores/contents.ts";
import { numbered } from "../../fixtures/stores/kill_rounds.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, studyRecords } from "../../fixtures/stores/records.ts";

/** Only root may mount; elsewhere points_test.ts and store_damage_test.ts limit the file's size. */
const ignore = Deno.uid() !== 0 || Deno.build.os !== "linux";

/** A file system of its own with so many megabytes. */
async function onSmallDisk(megabytes: number, work: (disk: string) => Promise<void>) {
  await inDirectory(async (directory) => {
    const disk = join(directory, "disk");
    await Deno.mkdir(disk);
    const size = `size=${megabytes}m`;
    const mounted = await execa("mount", ["-t", "tmpfs", "-o", size, "pare-test", disk], {
      reject: false,
    });
    if (mounted.failed) {
      console.log(`not tried: no file system can be mounted here: ${mounted.stderr}`);
      return;
    }
    try {
      await work(disk);
    } finally {
      await execa("umount", ["--lazy", disk]);
    }
  });
}

/** Fills the disk up to so many bytes that stay free. */
async function fill(path: string, leave: number): Promise<void> {
  const file = await Deno.open(path, { write: true, create: true });
  const block = new Uint8Array(16_384);
  try {
    for (;;) await file.write(block);
  } catch (error) {
    assert.ok(isDiskFull(error), String(error));
  }
  const { size } = await file.stat();
  await file.truncate(Math.max(0, size - leave));
  file.close();
}

Deno.test({
  name: "A journal on a full disk refuses in a sentence, keeps what it acknowledged, and goes on",
  ignore,
  fn: () =>
    onSmallDisk(24, async (disk) => {
      const root = join(disk, "store");
      const filler = join(disk, "filler");
      await using store = await openStore(root, { write: true });
      await store.record(numbered(0));
      await store.flush();
      let kept = 1;
      for (let turn = 0; turn < 3; turn++) { // full, room again, full again
        await fill(filler, 20_000);
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
    }),
});

Deno.test({
  name: "An index that has no room waits, says so, and catches up when there is room again",
  ignore,
  fn: () =>
    onSmallDisk(24, async (disk) => {
      const root = join(disk, "store");
      const filler = join(disk, "filler");
      await using store = await openStore(root, { write: true });
      await store.record(numbered(0));
      await store.flush();
      await fill(filler, 300_000);
      using _quiet = store.pauseSink();
      for (const study of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
        for (const record of studyRecords(study)) await store.record(record);
      }
      await fill(`${filler}-2`, 0);
      const full = await store.flush();
      assert.equal(full.caught_up, false);
      assert.match(full.error ?? "", /No space left|disk is full/);
      await Deno.remove(filler);
      await Deno.remove(`${filler}-2`);
      const after = await store.flush();
      assert.ok(after.caught_up, after.error ?? "");
      const stands = await contents(store);
      await rebuildDatabase(store);
      assert.deepEqual(stands, await contents(store));
    }),
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
  fn: () =>
    onSmallDisk(4, async (disk) => {
      const filler = join(disk, "filler");
      using store = await openArtifactStore(join(disk, "artifacts"));
      const directory = await store.begin();
      await Deno.writeFile(join(directory, "model.safetensors"), new Uint8Array(1_000_000));
      await fill(filler, 0);
      await assert.rejects(store.commit(directory, META), (error) => isDiskFull(error));
      assert.equal(await store.find(META.action_key), null);
      assert.deepEqual(await store.list(), []);
      await Deno.remove(filler);
      const kept = await store.commit(directory, META);
      assert.deepEqual(await store.verifyChecksums(kept), []);
      assert.deepEqual((await store.find(META.action_key))?.artifact_id, kept.artifact_id);
    }),
});
