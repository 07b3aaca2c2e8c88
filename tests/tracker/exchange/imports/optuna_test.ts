import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execa } from "execa";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { UsageError } from "../../../../core/mod.ts";
import { ensureEnvironment } from "../../../../python-backends/environments/environments.ts";
import { importRuns, isRun } from "../../../../tracker/exchange/imports/import_runs.ts";
import { optunaRuns } from "../../../../tracker/exchange/imports/optuna.ts";
import { readParam } from "../../../../tracker/exchange/imports/optuna_values.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";
import { runPare } from "../../../fixtures/programs.ts";

const MAKE = fileURLToPath(new URL("make_optuna.py", import.meta.url));

/** A trial as Optuna itself reads it back. */
interface Told {
  study_name: string;
  number: number;
  state: string;
  started_at: string | null;
  finished_at: string | null;
  params: Record<string, unknown>;
  values: (number | string)[];
  intermediate: [number, number | string][];
}

const STATES: Record<string, string> = {
  COMPLETE: "completed",
  FAIL: "failed",
  PRUNED: "stopped",
  RUNNING: "running",
};

async function made(path: string): Promise<Told[]> {
  const { python } = await ensureEnvironment("readers_duckdb1");
  const { stdout } = await execa(python, [MAKE, path]);
  return JSON.parse(stdout) as Told[];
}

async function hashOf(path: string): Promise<string> {
  return createHash("sha256").update(await readFile(path)).digest("hex");
}

Deno.test("optunaRuns() gives what Optuna itself reads, and the store keeps it once", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "study.db");
    const told = (await made(path)).filter(({ state }) => state !== "WAITING");
    const before = await hashOf(path);
    const runs = [...optunaRuns(path)].filter(isRun);
    const number = (value: number | string) => Number(value); // "nan" and "inf" as Python says them
    const special = (value: number | string) =>
      value === "inf" ? Infinity : value === "nan" ? NaN : number(value);
    assert.deepEqual(
      runs.map((run) => ({
        study_name: run.study_name,
        number: run.number,
        state: run.state,
        started_at: run.started_at,
        finished_at: run.finished_at,
        params: Object.fromEntries(run.params.map(({ param, value }) => [param, value])),
        values: run.measurements.map(({ value }) => value),
        intermediate: (run.series[0]?.steps ?? []).map((
          step,
          i,
        ) => [step, run.series[0]!.values[i]]),
      })),
      told.map((trial) => ({
        ...trial,
        state: STATES[trial.state],
        values: trial.values.map(special),
        intermediate: trial.intermediate.map(([step, value]) => [step, special(value)]),
      })),
    );
    assert.deepEqual(runs[0]!.tags, {
      "study.owner": "me",
      note: '{"a": 1}',
      words: "as they are",
    });
    assert.deepEqual(runs[0]!.params.map(({ distribution }) => distribution), [
      "float 0.0001 to 0.1, log",
      "int 2 to 8, step 2",
      'one of "gptq", null, 3, true, 2.5',
      "float 0 to 1, step 0.25",
    ]);

    const root = join(directory, "store");
    await using store = await openStore(root, { write: true });
    const from = { source: "optuna", location: path } as const;
    assert.equal((await importRuns(store, from, runs)).added, told.length);
    // A copy elsewhere is the same study.
    const moved = join(directory, "moved.db");
    await copyFile(path, moved);
    const again = await importRuns(store, { ...from, location: moved }, optunaRuns(moved));
    assert.deepEqual([again.added, again.updated, again.unchanged], [0, 0, told.length]);
    const { rows } = await store.query(
      `SELECT rank, number, value FROM imported_leaderboard
       WHERE study_id LIKE 'optuna-two-objectives-%' AND metric = 'latency' ORDER BY rank, number`,
    );
    assert.equal(rows.length, 4, "the failed trial is not ranked");
    assert.deepEqual([rows.at(-1)!["number"], rows.at(-1)!["value"]], [1, Infinity]);
    assert.equal(await hashOf(path), before, "the file is only read");
    await store.close();

    const pare = (...words: string[]) => runPare([...words, "--store", root]);
    const third = await pare("import", "optuna", path, "--study", "pruned");
    assert.match(third.stdout, /^0 runs added, 0 updated, 4 unchanged\n {2}study optuna-pruned-/);
    const { stdout } = await pare("studies");
    assert.match(
      stdout,
      /optuna-two-objectives-\w+ +– +two objectives +– +5 +imported from optuna/,
    );
    const wrong = await pare("import", "optuna", path, "--study", "prunde");
    assert.deepEqual([wrong.exitCode, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /^pare: Unknown study "prunde"\. Did you mean "pruned"\?/);
  }));

Deno.test("optunaRuns() refuses what is no Optuna file, an unknown study, and older tables", () =>
  inDirectory(async (directory) => {
    const text = join(directory, "text.db");
    await writeFile(text, "not a database, but long enough to look like a file".repeat(20));
    assert.throws(
      () => [...optunaRuns(text)].filter(isRun),
      /Cannot import .*text\.db .* SQLite file/,
    );
    assert.throws(() => [...optunaRuns(join(directory, "none.db"))], UsageError);
    const foreign = join(directory, "foreign.db");
    const database = new DatabaseSync(foreign);
    database.exec("CREATE TABLE version_info (a INT)");
    assert.throws(() => [...optunaRuns(foreign)].filter(isRun), /holds no study of Optuna's/);
    database.exec(`DROP TABLE version_info;
      CREATE TABLE version_info (schema_version INT, library_version TEXT);
      INSERT INTO version_info VALUES (10, '2.4.0');
      CREATE TABLE studies (study_id INT, study_name TEXT);
      INSERT INTO studies VALUES (1, 'mine')`);
    assert.throws(
      () => [...optunaRuns(foreign)].filter(isRun),
      /version 10, not 12: run "optuna storage upgrade/,
    );
    database.exec("UPDATE version_info SET schema_version = 12");
    assert.throws(() => [...optunaRuns(foreign, "mein")].filter(isRun), /Unknown study "mein"/);
    database.close();
  }));

Deno.test("readParam() reads the distributions of older versions too", () => {
  const param = (name: string, attributes: unknown, stored: number) => {
    const { value, distribution } = readParam("p", stored, JSON.stringify({ name, attributes }));
    return [value, distribution];
  };
  assert.deepEqual(param("LogUniformDistribution", { low: 1, high: 8 }, 2.5), [
    2.5,
    "float 1 to 8, log",
  ]);
  assert.deepEqual(param("DiscreteUniformDistribution", { low: 0, high: 1, q: 0.5 }, 0.5), [
    0.5,
    "float 0 to 1, step 0.5",
  ]);
  assert.deepEqual(param("IntUniformDistribution", { low: 1, high: 8, step: 1 }, 3), [
    3,
    "int 1 to 8",
  ]);
  assert.deepEqual(param("CategoricalDistribution", { choices: ["a", null] }, 1), [
    null,
    'one of "a", null',
  ]);
});
