/** Columns of the store's tables against the table of metrics: both say which figures there are. */
import assert from "node:assert/strict";
import { METRICS } from "../../../core/mod.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

Deno.test("trial_figures, leaderboard_wide and trial_summary have a column for every main metric", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await store.flush();
    const wanted = METRICS.flatMap(({ name, column }) => column ? [name] : []).sort();
    const columnsOf = async (table: string): Promise<string[]> => {
      const { rows } = await store.query(
        `SELECT column_name AS name FROM duckdb_columns() WHERE table_name = '${table}'`,
      );
      return rows.map(({ name }) => String(name));
    };
    // What stands beside a figure: whose row it is, its error and samples, how energy was read.
    const beside = /_id$|_standard_error$|_n$|^energy_reader$/;
    const figures = (await columnsOf("trial_figures")).filter((name) => !beside.test(name));
    // Latency as it is compared stands in compared_trials, and nowhere as it was timed.
    assert.deepEqual(figures.sort(), wanted.filter((name) => name !== "latency_ms"));
    for (const view of ["leaderboard_wide", "trial_summary"]) {
      const columns = await columnsOf(view);
      assert.deepEqual(wanted.filter((name) => !columns.includes(name)), [], view);
    }
  }));
