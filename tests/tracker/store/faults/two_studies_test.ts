import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { checkStore } from "../../../../tracker/artifacts/check_store.ts";
import { runOwners } from "../../../../tracker/store/shelf/writers.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { takeNote } from "../../../../tracker/store/take_note.ts";
import { storePaths } from "../../../../tracker/store/store_paths.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../../fixtures/stores/records.ts";
import { releasedStore } from "../../../fixtures/stores/released.ts";
import { killEither } from "../../../fixtures/stores/two_studies.ts";

Deno.test("Two processes write two studies of one store at once; killed, neither loses anything", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const { kept } = await killEither(directory, root, [900, 300, 600]);
    assert.ok(kept > 10, `${kept}`);
    assert.deepEqual((await checkStore(root)).wrong, []);
  }));

Deno.test("A reader sees what two writers were told is kept within a second of it", () =>
  inDirectory(async (root) => {
    await using first = await openStore(root, { write: true });
    for (const record of studyRecords("a")) await first.record(record);
    await using second = await openStore(root, { write: true });
    for (const record of studyRecords("b")) await second.record(record);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await using reader = await openStore(root, { write: false });
    const { rows } = await reader.query("SELECT study_id FROM studies ORDER BY ALL");
    assert.deepEqual(rows, [{ study_id: "a" }, { study_id: "b" }]);
  }));

Deno.test("A study is one process's, and others may be written meanwhile", () =>
  inDirectory(async (root) => {
    await using first = await openStore(root, { write: true });
    await first.take("a");
    assert.deepEqual(runOwners(storePaths(root)).map(({ study_id }) => study_id), ["a"]);
    await using second = await openStore(root, { write: true, wait_ms: 0 });
    await assert.rejects(second.take("a"), /Cannot write the study a .* Other studies can run/);
    for (const record of studyRecords("b")) await second.record(record);
    await first.release("a");
    await second.take("a");
    assert.deepEqual(runOwners(storePaths(root)).map(({ study_id }) => study_id), ["a", "b"]);
  }));

Deno.test("A store that is moved goes on where it lies then", () =>
  inDirectory(async (directory) => {
    const [here, there] = [join(directory, "here"), join(directory, "there")];
    const [opened, ...more] = studyRecords();
    {
      await using store = await openStore(here, { write: true });
      await store.record(opened!);
    }
    await rename(here, there);
    await using store = await openStore(there, { write: true });
    for (const record of more) await store.record(record);
    assert.equal((await store.journalOf(STUDY)).length, more.length + 1);
    assert.deepEqual((await store.query("SELECT count(*) AS n FROM trials")).rows, [{ n: 4 }]);
    assert.deepEqual(
      (await checkStore(there)).wrong.filter((one) => /journal|index/.test(one)),
      [],
    );
  }));

Deno.test("A run whose folder is removed is gone from the index, and the others stay", () =>
  inDirectory(async (root) => {
    {
      await using store = await openStore(root, { write: true });
      for (const study of ["a", "b"]) {
        for (const record of studyRecords(study)) await store.record(record);
      }
    }
    await Deno.remove(join(root, "runs", "a"), { recursive: true });
    await using reader = await openStore(root, { write: false });
    const { rows } = await reader.wholeQuery("SELECT study_id FROM studies");
    assert.deepEqual(rows, [{ study_id: "b" }]);
    assert.deepEqual(await reader.studyIds(), ["b"]);
  }));

Deno.test("a note of an old store's study stays where its run was taken and nothing recorded", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await releasedStore(65, root);
    {
      await using writer = await openStore(root, { write: true });
      await writer.take("demo-1");
      await using reader = await openStore(root, { write: false });
      await takeNote(reader, "demo-1", "the one to ship");
    }
    await using store = await openStore(root, { write: false });
    const notes = (await store.journalOf("demo-1")).filter(({ type }) => type === "note");
    assert.ok(notes.some((note) => note.type === "note" && note.text === "the one to ship"));
  }));
