import assert from "node:assert/strict";
import { execa } from "execa";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../python-backends/environments/environments.ts";
import { importRuns } from "../../tracker/exchange/imports/import_runs.ts";
import { lmEvalRuns } from "../../tracker/exchange/imports/lm_eval.ts";
import { openStore } from "../../tracker/store/store.ts";
import { inDirectory } from "../fixtures/stores/processes.ts";

const MAKE = fileURLToPath(new URL("../tracker/exchange/imports/make_lm_eval.py", import.meta.url));

Deno.test("what the pinned lm-eval writes is imported with figures and samples", () =>
  inDirectory(async (directory) => {
    const { python } = await ensureEnvironment("default");
    await execa(python, [MAKE, directory]);
    const folder = join(directory, "results");
    await using store = await openStore(join(directory, "store"), { write: true });
    const report = await importRuns(
      store,
      { source: "lm_eval", location: folder },
      lmEvalRuns(folder),
    );
    assert.equal(report.added, 2);
    const { rows } = await store.query(
      `SELECT m.value, avg(s.score) AS mean FROM imported_measurements m
       JOIN samples s ON s.trial_id = m.trial_id AND s.task = m.task
       WHERE m.metric = 'acc' AND m.task IN ('sums_a', 'sums_b') GROUP BY m.trial_id, m.task, m.value`,
    );
    assert.equal(rows.length, 4);
    for (const { value, mean } of rows) assert.equal(mean, value);
  }));
