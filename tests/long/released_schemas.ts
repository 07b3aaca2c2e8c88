/** Every schema that was released: opened, asked, gone on with, and made anew the same elsewhere. */
import assert from "node:assert/strict";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { checkStore } from "../../tracker/artifacts/check_store.ts";
import { openStore, rebuildDatabase } from "../../tracker/store/store.ts";
import { contents } from "../fixtures/stores/contents.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";
import { RELEASED, releasedStore } from "../fixtures/stores/released.ts";

const ASKED = `SELECT (SELECT count(*) FROM trials) AS trials,
  (SELECT count(*) FROM samples) AS samples, (SELECT count(*) FROM metric_points) AS points,
  (SELECT count(*) FROM problems) AS problems, (SELECT count(*) FROM energy_readings) AS energy,
  (SELECT string_agg(trial_id, ' ' ORDER BY rank, trial_id) FROM leaderboard) AS board`;

assert.deepEqual(RELEASED, [65]);

/** Files that a store of the fixtures lacks, or that were changed: they are wrong wherever it lies. */
const WRONG = [
  ...Array.from({ length: 4 }, (_, n) => `logs/demo-1/t${n}-evaluate.log`),
  ...Array.from({ length: 4 }, (_, n) => `logs/later/t${n}-evaluate.log`),
  "samples/demo-1/t02-proxy.parquet",
  "samples/demo-1/t03-proxy.parquet",
];

for (const schema of RELEASED) {
  Deno.test(`schema ${schema}: asked, gone on with in a journal of its own, and made anew the same elsewhere`, () =>
    inDirectory(async (directory) => {
      const root = join(directory, "store");
      await releasedStore(schema, root);
      const old = await Deno.readFile(join(root, "journal.jsonl"));
      let asked: unknown;
      {
        await using store = await openStore(root, { write: true });
        const { caught_up, error, set_aside } = await store.flush();
        assert.deepEqual([caught_up, error, set_aside], [true, null, null]);
        const { rows } = await store.query(ASKED);
        assert.deepEqual(rows, [{
          ...{ trials: 8, samples: 6, points: 8, problems: 2, energy: 8 },
          board: "demo-1/t01 later/t01 demo-1/t02 later/t02 demo-1/t03 later/t03",
        }]);
        const views = await store.query(
          "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1",
        );
        for (const { view_name } of views.rows) await store.query(`FROM "${view_name}" LIMIT 3`);
        // A study of the old journal goes on in its own, and the old one is not touched.
        const before = await store.journalOf("demo-1");
        const at = "2026-11-25T12:00:00.000Z";
        await store.record({ type: "study_resumed", at, study_id: "demo-1" });
        const after = await store.journalOf("demo-1");
        assert.deepEqual(after.slice(0, -1), before);
        assert.equal(after.at(-1)!.type, "study_resumed");
        assert.deepEqual(await store.studyIds(), ["demo-1", "later"]);
        const { rows: events } = await store.query(
          "SELECT type FROM events WHERE study_id = 'demo-1' ORDER BY position DESC LIMIT 1",
        );
        assert.deepEqual(events, [{ type: "study_resumed" }]);
        asked = await contents(store);
      }
      assert.deepEqual(await Deno.readFile(join(root, "journal.jsonl")), old);
      const names = [...Deno.readDirSync(root)].map(({ name }) => name);
      assert.deepEqual(names.filter((name) => /damaged|\.new|\.partial|backup/.test(name)), []);

      const elsewhere = join(directory, "elsewhere");
      await rename(root, elsewhere);
      const { wrong } = await checkStore(elsewhere);
      const bare = wrong.map((one) => one.replace(/ \(.*/, ""));
      assert.deepEqual([...new Set(bare)].sort(), WRONG);
      await using moved = await openStore(elsewhere, { write: true });
      await rebuildDatabase(moved);
      assert.deepEqual(await contents(moved), asked);
    }));
}
