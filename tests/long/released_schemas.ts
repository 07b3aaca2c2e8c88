/** Every schema that was released: opened, copied, upgraded, asked and made anew the same. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { checkStore } from "../../tracker/store/check_store.ts";
import { SCHEMA_VERSION } from "../../tracker/store/index/schema/files.ts";
import { openStore, rebuildDatabase } from "../../tracker/store/store.ts";
import { backupPath } from "../../tracker/store/index/upgrade.ts";
import { contents } from "../fixtures/stores/contents.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { RELEASED, releasedStore } from "../fixtures/stores/released.ts";

async function versionOf(database: string): Promise<number> {
  const instance = await DuckDBInstance.create(database, { access_mode: "READ_ONLY" });
  const connection = await instance.connect();
  try {
    const sql = "SELECT max(version) FROM schema_migrations";
    return Number((await connection.runAndReadAll(sql)).getRows()[0]![0]);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const ASKED = `SELECT (SELECT count(*) FROM trials) AS trials,
  (SELECT count(*) FROM samples) AS samples, (SELECT count(*) FROM metric_points) AS points,
  (SELECT count(*) FROM problems) AS problems, (SELECT count(*) FROM energy_readings) AS energy,
  (SELECT string_agg(trial_id, ' ' ORDER BY rank) FROM leaderboard) AS board`;

assert.deepEqual(RELEASED, [29]);

/** Files that a store of the fixtures lacks, or that were changed: they are wrong wherever it lies. */
const WRONG = [
  ...Array.from({ length: 4 }, (_, n) => `logs/demo-1/t${n}-evaluate.log`),
  "samples/demo-1/t02-proxy.parquet",
  "samples/demo-1/t03-proxy.parquet",
];

for (const schema of RELEASED) {
  Deno.test(`schema ${schema}: copied beside itself, upgraded, asked, and made anew the same elsewhere`, () =>
    inDirectory(async (directory) => {
      const root = join(directory, "store");
      const database = await releasedStore(schema, root);
      const before = await Deno.readFile(database);
      let upgraded: unknown;
      {
        await using store = await openStore(root, { write: true });
        const { caught_up, error, set_aside } = await store.flush();
        assert.deepEqual([caught_up, error, set_aside], [true, null, null]);
        const { rows } = await store.query(ASKED);
        assert.deepEqual(rows, [{
          ...{ trials: 4, samples: 6, points: 8, problems: 2, energy: 4 },
          board: "demo-1/t01 demo-1/t02 demo-1/t03",
        }]);
        const views = await store.query(
          "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1",
        );
        for (const { view_name } of views.rows) await store.query(`FROM "${view_name}" LIMIT 3`);
        upgraded = await contents(store);
      }
      const backup = backupPath(database, schema);
      assert.equal(existsSync(backup), schema < SCHEMA_VERSION);
      if (existsSync(backup)) {
        assert.deepEqual(await Deno.readFile(backup), before, "the copy is not what was there");
        assert.equal(await versionOf(backup), schema);
      }
      const names = [...Deno.readDirSync(root)].map(({ name }) => name);
      assert.deepEqual(names.filter((name) => /damaged|\.new|\.partial/.test(name)), []);

      const elsewhere = join(directory, "elsewhere");
      await rename(root, elsewhere);
      if (schema === RELEASED.at(-1)) {
        const { wrong } = await checkStore(elsewhere);
        assert.deepEqual(wrong.map((one) => one.replace(/ \(.*/, "")).sort(), WRONG);
      }
      await using moved = await openStore(elsewhere, { write: true });
      await rebuildDatabase(moved);
      assert.deepEqual(await contents(moved), upgraded);
    }));
}
