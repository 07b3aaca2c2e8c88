/**
 * Stores as earlier versions wrote them. The files under `fixtures/stores/v1` were made by the pare
 * of record version 1 and are never made again: journal, a sample file and every row of its index.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { cp } from "node:fs/promises";
import { fromJson, toJson } from "../../../tracker/store/journal/record_line.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { STUDY } from "../../fixtures/stores/records.ts";

const V1 = fileURLToPath(new URL("../../fixtures/stores/v1/", import.meta.url));

/** An artifact is that of every study which uses it: its rows name no record any more. */
const GONE: Readonly<Record<string, readonly string[]>> = {
  artifacts: ["position"],
  layer_sensitivities: ["study_id", "trial_id", "position"],
};

/** Columns that have another name today. */
const RENAMED: Readonly<Record<string, string>> = { stage: "call", failure_stage: "failure_phase" };

type Expected = { table: string; row: Record<string, unknown> };

Deno.test("A store of record version 1 gives the same rows today, and takes new records", () =>
  inDirectory(async (root) => {
    await cp(V1, root, { recursive: true });
    await using store = await openStore(root, { write: true });
    assert.deepEqual((await store.query("FROM problems")).rows, []);
    await store.flush({ wait_ms: 60_000 });
    const lines = (await Deno.readTextFile(`${V1}expected_rows.jsonl`)).trimEnd().split("\n");
    const expected = lines.map((line) => fromJson(line) as Expected); // written as such
    for (const [table, all] of Map.groupBy(expected, (one) => one.table)) {
      const gone = GONE[table] ?? [];
      const wanted = all.map(({ row }) =>
        Object.fromEntries(
          Object.entries(row).filter(([name]) => !gone.includes(name))
            .map(([name, value]) => [RENAMED[name] ?? name, value]),
        )
      );
      // Later versions may add columns; those of version 1 keep their names and values.
      const columns = Object.keys(wanted[0]!).map((name) => `"${name}"`).join(", ");
      const { rows } = await store.query(`SELECT ${columns} FROM "${table}" ORDER BY ${columns}`);
      assert.deepEqual(fromJson(toJson(rows)), wanted, table);
    }
    assert.deepEqual((await store.query("FROM problems")).rows, []);
    assert.equal((await store.journalOf(STUDY)).length, 33);
    await store.record({ type: "study_resumed", at: "2026-04-01T00:00:00Z", study_id: STUDY });
    await store.flush();
    const { rows } = await store.query("SELECT resumed_at FROM studies");
    assert.deepEqual(rows, [{ resumed_at: new Date("2026-04-01T00:00:00Z") }]);
  }));
