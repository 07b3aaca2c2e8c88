import assert from "node:assert/strict";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { SCHEMA_VERSION } from "../../tracker/store/index/schema/files.ts";
import { openStore } from "../../tracker/store/store.ts";
import { rounds } from "../fixtures/campaign.ts";
import { contents, copyStore } from "../fixtures/stores/contents.ts";
import { startScript } from "../fixtures/programs.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { releasedStore } from "../fixtures/stores/released.ts";

const STORE = import.meta.resolve("../../tracker/store/store.ts");
const KILLS = rounds(4, 20);

/** The schema's version and the trials of the database as it lies there. */
async function lies(root: string): Promise<{ version: number; trials: number }> {
  // A copy is asked: opening it would take its write-ahead log over.
  const copy = join(root, "..", "asked");
  await copyStore(root, copy);
  const instance = await DuckDBInstance.create(join(copy, "pare.duckdb"));
  const connection = await instance.connect();
  try {
    const sql =
      "SELECT max(version)::INT, (SELECT count(*)::INT FROM trials) FROM schema_migrations";
    const [version, trials] = (await connection.runAndReadAll(sql)).getRows()[0]!;
    return { version: Number(version), trials: Number(trials) };
  } finally {
    connection.closeSync();
    instance.closeSync();
    await Deno.remove(copy, { recursive: true });
  }
}

/** Upgrades the store in another process; kills it after so many milliseconds, null: never. */
async function upgrade(directory: string, root: string, kill_ms: number | null): Promise<number> {
  const child = await startScript(
    directory,
    `import { openStore } from ${JSON.stringify(STORE)};
    const store = await openStore(${JSON.stringify(root)}, { write: true });
    console.log("opened");
    await store.flush({ wait_ms: 10_000 });
    console.log("upgraded");
    setInterval(() => {}, 1000);`,
  );
  assert.equal(await child.line(), "opened");
  const started = performance.now();
  if (kill_ms === null) assert.equal(await child.line(), "upgraded");
  else await new Promise((resolve) => setTimeout(resolve, kill_ms));
  const took = performance.now() - started;
  await child.kill();
  return took;
}

async function rowsOf(root: string): Promise<unknown> {
  await using store = await openStore(root, { write: true });
  const { caught_up, error } = await store.flush();
  assert.ok(caught_up, error ?? "");
  return await contents(store);
}

for (const schema of [65]) {
  Deno.test(`kill -9 while an index of schema ${schema} is made anew, at ${KILLS} growing times: the old database or the new one, never between`, () =>
    inDirectory(async (directory) => {
      const whole = join(directory, "whole");
      await releasedStore(schema, whole);
      const took = await upgrade(directory, whole, null);
      const expected = await rowsOf(whole);
      let old = 0;
      for (let n = 0; n < KILLS; n++) {
        const root = join(directory, `store-${n}`);
        await releasedStore(schema, root);
        // From at once to long after it should have ended, as a busy machine takes longer each time.
        const kill_ms = 2.4 * took * n / (KILLS - 1);
        await upgrade(directory, root, kill_ms);
        const found = await lies(root);
        assert.ok(
          [schema, SCHEMA_VERSION].includes(found.version),
          `${JSON.stringify(found)} at ${kill_ms}`,
        );
        assert.equal(found.trials, 8);
        if (found.version === schema) old++;
        assert.deepEqual(await rowsOf(root), expected, `killed after ${kill_ms} ms`);
        await Deno.remove(root, { recursive: true });
      }
      console.log(
        `${KILLS} kills of an upgrade of ${
          took.toFixed(0)
        } ms: ${old} left the old database, the rest the new`,
      );
      assert.ok(old > 0 && old < KILLS, "all kills fell on one side of the upgrade");
    }));
}
