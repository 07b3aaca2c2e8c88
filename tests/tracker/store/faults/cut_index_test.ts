import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DuckDBInstance } from "@duckdb/node-api";
import { checkStore } from "../../../../tracker/artifacts/check_store.ts";
import { openDatabase } from "../../../../tracker/store/index/open_database.ts";
import { openStore, rebuildDatabase } from "../../../../tracker/store/store.ts";
import { answersAfter, besideIndex, wholeStore } from "../../../fixtures/stores/cut_index.ts";
import { pare } from "../../../fixtures/stores/pare.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { STUDY, studyRecords } from "../../../fixtures/stores/records.ts";

async function foreignDatabase(path: string, more = "SELECT 1"): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run("CREATE TABLE mine AS SELECT 1 AS a");
  await connection.run(more);
  connection.closeSync();
  instance.closeSync();
}

/** What may stand in an index's place, and nobody but its maker can open. */
const THINGS: Record<string, (path: string) => unknown> = {
  "an empty file": (path) => Deno.writeTextFile(path, ""),
  "a SQLite file": (path) => new DatabaseSync(path).exec("CREATE TABLE a (b); "),
  "another program's DuckDB": foreignDatabase,
  "another program's DuckDB that numbers its migrations": (path) =>
    foreignDatabase(path, "CREATE TABLE schema_migrations AS SELECT 5 AS version, 'x' AS name"),
  "a directory with a file": async (path) => {
    await Deno.mkdir(path);
    await Deno.writeTextFile(join(path, "mine"), "");
  },
  "a link that leads nowhere": (path) => Deno.symlink("/nowhere/pare.duckdb", path),
};

// Other places are the loop `index` of tests/faults.
Deno.test("What stands in the index's place and is none is kept beside, and every answer stays", () =>
  inDirectory(async (directory) => {
    const whole = await wholeStore(directory);
    const copy = join(directory, "copy");
    for (const [what, put] of Object.entries(THINGS)) await answersAfter(whole, copy, put, what);
    const { bytes } = whole;
    for (const at of [12_288, bytes.length - 4096]) {
      const cut = (path: string) => Deno.writeFile(path, bytes.subarray(0, at));
      await answersAfter(whole, copy, cut, `an index cut at ${at} of ${bytes.length}`);
    }
  }));

Deno.test("A flipped bit in the storage version of an index is damage, no newer DuckDB", () =>
  inDirectory(async (directory) => {
    const whole = await wholeStore(directory);
    const bytes = whole.bytes.slice();
    bytes[12]! ^= 0x80;
    await answersAfter(
      whole,
      join(directory, "copy"),
      (path) => Deno.writeFile(path, bytes),
      "a flipped version",
    );
  }));

Deno.test("pare status, check, note, sql and export of a store with a cut index: words, no stack", () =>
  inDirectory(async (directory) => {
    const { root, database, bytes } = await wholeStore(directory);
    const cut = () => Deno.writeFile(database, bytes.subarray(0, bytes.length - 300_000));
    await cut();
    const status = await pare("status", "--store", root);
    assert.equal(status.code, 0, status.stderr);
    assert.match(status.stdout, /index +damaged \(IO Error.*\); it is made anew when it is next/);
    const { wrong } = await checkStore(root);
    assert.match(wrong.join("\n"), /^the index is damaged: .*`pare store rebuild` makes it anew/m);
    assert.deepEqual(await besideIndex(root), []);
    const note = await pare("note", STUDY, "still here", "--store", root);
    assert.equal(note.code, 0, note.stderr);
    assert.match(
      note.stderr,
      /made the index anew; the one before is kept as .*damaged-1: IO Error/,
    );
    await cut();
    const sql = await pare("sql", "SELECT count(*) AS n FROM trials", "--store", root);
    assert.equal(sql.code, 0, sql.stderr);
    assert.match(sql.stderr, /^pare: made the index anew; .*damaged-2: IO Error/m);
    assert.doesNotMatch(sql.stderr, /\n +at /);
    await cut();
    const out = join(directory, "out");
    assert.equal((await pare("export", "--parquet", out, "--store", root)).code, 0);
    assert.equal((await besideIndex(root)).length, 3);
  }));

Deno.test("A study that runs meets a cut index and goes on with one made anew, and says so", () =>
  inDirectory(async (directory) => {
    const { root, database, bytes } = await wholeStore(directory);
    await Deno.writeFile(database, bytes.subarray(0, bytes.length >> 1));
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords("b")) await store.record(record);
    const { caught_up, set_aside, error } = await store.flush();
    assert.ok(caught_up, error ?? "");
    assert.equal(set_aside, `${database}.damaged-1`);
    const { rows } = await store.query("SELECT count(*) AS n FROM studies");
    assert.deepEqual(rows, [{ n: 2 }]);
  }));

Deno.test("A rebuilding keeps the old index, takes what a killed one left away, and leaves nothing", () =>
  inDirectory(async (directory) => {
    const { root, database, bytes } = await wholeStore(directory);
    await Deno.writeFile(`${database}.new`, bytes.subarray(0, 5000));
    await Deno.writeTextFile(`${database}.new.wal`, "half of one");
    {
      await using store = await openStore(root, { write: true });
      assert.deepEqual(await besideIndex(root), []);
      await Deno.writeFile(`${database}.new`, bytes.subarray(0, 5000));
      const { kept } = await rebuildDatabase(store);
      assert.equal(kept, `${database}.replaced-1`);
    }
    assert.deepEqual(await besideIndex(root), ["pare.duckdb.replaced-1"]);
    const old = await openDatabase(`${database}.replaced-1`, { readOnly: true });
    assert.ok(!("obstacle" in old), "the old index opens");
    old.close();
    await Deno.writeFile(database, bytes.subarray(0, 9000));
    const { code, stdout } = await pare("store", "rebuild", "--store", root);
    assert.equal(code, 0);
    assert.match(stdout, /1 studies, 4 trials/);
    assert.deepEqual(await besideIndex(root), ["pare.duckdb.damaged-1", "pare.duckdb.replaced-1"]);
  }));
