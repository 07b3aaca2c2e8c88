/**
 * Databases of earlier schemas. The store under `fixtures/stores/schema2` was made by the pare of
 * schema 2 and is never made again.
 */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";
import { SCHEMA_VERSION } from "../../tracker/store/index/schema/files.ts";
import { openStore } from "../../tracker/store/store.ts";
import { assertRebuilds } from "../fixtures/stores/contents.ts";
import { startScript } from "../fixtures/programs.ts";
import { databaseHolder, inDirectory } from "../fixtures/stores/processes.ts";
import { unpack } from "../fixtures/stores/released.ts";

const SCHEMA2 = fileURLToPath(new URL("../fixtures/stores/schema2/", import.meta.url));
const STORE = import.meta.resolve("../../tracker/store/store.ts");

/** A copy of the store of schema 2, its database unpacked. */
async function oldStore(root: string): Promise<string> {
  await cp(SCHEMA2, root, { recursive: true });
  const packed = join(root, "pare.duckdb.gz");
  const database = join(root, "pare.duckdb");
  await unpack(packed, database);
  await Deno.remove(packed);
  return database;
}

async function ask(database: string, sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(database, { access_mode: "READ_ONLY" });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const OLD =
  "SELECT max(version)::INT AS v, (SELECT count(*)::INT FROM trials) AS n FROM schema_migrations";

/** Everything that must hold when an upgrade is through. */
async function assertUpgraded(root: string): Promise<void> {
  await using store = await openStore(root, { write: true });
  const status = await store.flush();
  assert.equal(status.caught_up, true, status.error ?? "");
  assert.equal(status.set_aside, null);
  const { rows } = await store.query(`
    SELECT max(version) AS version, (SELECT count(*) FROM trials) AS trials,
      (SELECT count(*) FROM samples) AS samples, (SELECT count(*) FROM runs) AS runs,
      (SELECT count(*) FROM pareto WHERE rank = 0) AS front FROM schema_migrations`);
  assert.deepEqual(rows, [
    { version: SCHEMA_VERSION, trials: 8, samples: 6, runs: 3, front: 6 },
  ]);
  await assertRebuilds(store);
  const names = [...Deno.readDirSync(root)].map(({ name }) => name);
  assert.deepEqual(names.filter((name) => /damaged|\.new|backup/.test(name)), []);
}

Deno.test("A database of schema 2 is made anew and equals a rebuild from its journal", () =>
  inDirectory(async (root) => {
    const database = await oldStore(root);
    assert.deepEqual(await ask(database, OLD), [{ v: 2, n: 8 }]);
    await assertUpgraded(root);
  }));

Deno.test("A reader of an old store makes its index anew where nobody writes it", () =>
  inDirectory(async (root) => {
    await oldStore(root);
    await using reader = await openStore(root, { write: false });
    const { rows } = await reader.query("SELECT count(*) AS n FROM events");
    const [{ n }] = rows as [{ n: number }];
    assert.equal(
      n,
      (await reader.journalOf("demo-1")).length + (await reader.journalOf("demo-2")).length,
    );
  }));

Deno.test("An old database that another process holds waits for its upgrade and is left as it is", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const database = await oldStore(root);
    const holder = await startScript(directory, databaseHolder(database));
    assert.equal(await holder.line(), "open");
    {
      await using store = await openStore(root, { write: true });
      const status = await store.flush({ wait_ms: 0 });
      assert.equal(status.held_by?.pid, holder.pid);
    }
    await holder.kill();
    assert.deepEqual(await ask(database, OLD), [{ v: 2, n: 8 }]);
    await assertUpgraded(root);
  }));

/** What stands in the folder when an upgrade has come to a step. */
const STEPS: Record<string, (names: Set<string>, root: string) => boolean> = {
  "it has the lock": (names) => names.has("pare.duckdb.upgrade"),
  "the new database is begun": (names) => names.has("pare.duckdb.new"),
  "the new database has its tables": (names, root) =>
    names.has("pare.duckdb.new") && (sizeOf(join(root, "pare.duckdb.new.wal")) > 100_000 ||
      sizeOf(join(root, "pare.duckdb.new")) > 1_000_000),
  "the new database is in its place": (names, root) =>
    !names.has("pare.duckdb.new") && sizeOf(join(root, "pare.duckdb")) > OLD_BYTES,
};

/** More than the old database has. */
const OLD_BYTES = 9_000_000;

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}

async function killAt(directory: string, root: string, step: string): Promise<boolean> {
  const child = await startScript(
    directory,
    `
    import { openStore } from ${JSON.stringify(STORE)};
    const store = await openStore(${JSON.stringify(root)}, { write: true });
    console.log("opened");
    await store.flush({ wait_ms: 10_000 });
    console.log("upgraded");
    setInterval(() => {}, 1000);`,
  );
  await child.line();
  let done = false;
  void child.line().then(() => done = true).catch(() => {});
  let reached = false;
  let begun = false;
  while (!reached && !done) {
    const names = new Set([...Deno.readDirSync(root)].map(({ name }) => name));
    begun ||= names.has("pare.duckdb.new");
    reached = STEPS[step]!(names, root) && (step !== "the new database is in its place" || begun);
    await Promise.resolve();
    if (!reached) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await child.kill();
  return reached;
}

for (const step of Object.keys(STEPS)) {
  Deno.test(`kill -9 of an upgrade when ${step}: the next one ends it, and nothing is lost`, () =>
    inDirectory(async (directory) => {
      const root = join(directory, "store");
      await oldStore(root);
      assert.ok(await killAt(directory, root, step), "the upgrade was over before the kill");
      await assertUpgraded(root);
    }));
}
