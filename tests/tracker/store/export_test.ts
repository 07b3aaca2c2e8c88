import assert from "node:assert/strict";
import { journalOf } from "../../fixtures/stores/journals.ts";
import { createHash } from "node:crypto";
import { execa } from "execa";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { AT, measurement, STUDY, studyRecords, trialId } from "../../fixtures/stores/records.ts";
import { runPare } from "../../fixtures/programs.ts";

const READER = fileURLToPath(new URL("python_readers/read_store.py", import.meta.url));

/** Study names that a folder's name must not change. */
const STUDIES = ["001", "a b=c'd %2F é", "demo-1"];

interface Schema {
  format: string;
  journals: Record<string, number>;
  tables: { name: string; kind: string; rows: number; path: string; columns: unknown[] }[];
}

interface Read {
  version: string;
  trials: unknown[];
  [key: string]: unknown;
}

function exported(root: string, out: string, ...more: string[]) {
  return runPare(["export", "--store", root, "--parquet", out, ...more]);
}

async function hashes(database: string): Promise<string[]> {
  return await Promise.all([database, `${database}.wal`].map(async (path) => {
    try {
      return createHash("sha256").update(await Deno.readFile(path)).digest("hex");
    } catch {
      return "none";
    }
  }));
}

async function read(environment: string, database: string, out: string, frames: boolean) {
  const { python } = await ensureEnvironment(environment);
  const { stdout } = await execa(python, [READER, database, out, ...(frames ? ["frames"] : [])]);
  return JSON.parse(stdout) as Read;
}

async function recorded(root: string): Promise<void> {
  await using store = await openStore(root, { write: true });
  for (const study of STUDIES) {
    await Promise.all(studyRecords(study).map((record) => store.record(record)));
  }
  const measurements = [measurement("perplexity", NaN)];
  const own = { at: AT, study_id: "demo-1", trial_id: trialId(1) };
  await store.record({ type: "measured", ...own, measurements });
}

Deno.test("the store and its export are read by Python's DuckDB 1.5 and 2.0, pandas and Polars, which change no byte", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    const out = join(directory, "it's out", "export");
    await recorded(root);
    // A writer that is open leaves a write-ahead log beside the database: readers see it too.
    await using writer = await openStore(root, { write: true });
    await writer.record({ type: "study_resumed", at: AT, study_id: "demo-1" });
    await writer.flush();
    using _quiet = writer.pauseSink(); // plain DuckDB does not try again as pare's readers do
    const { exitCode, stderr, stdout } = await exported(root, out);
    assert.deepEqual([exitCode, stderr], [0, ""]);
    assert.match(stdout, /tables and views, \d+ rows in/);
    const { rows } = await writer.query(
      "SELECT study_id, trial_id, number FROM trials ORDER BY study_id, number",
    );
    const trials = rows.map((row) => Object.values(row));
    assert.equal(trials.length, 4 * STUDIES.length);
    const before = await hashes(writer.paths.database);
    assert.notEqual(before[1], "none", "there is a write-ahead log");
    for (const [environment, version, frames] of READERS) {
      const found = await read(environment, writer.paths.database, out, frames);
      assert.match(found.version, version);
      assert.deepEqual(found.trials, trials);
      assert.deepEqual(found["parquet_trials"], trials);
      assert.deepEqual([found["leaderboard"], found["parquet_view"]], [[9], [9]]);
      assert.deepEqual(found["nan"], [1]);
      assert.equal(found["write"], "InvalidInputException");
      assert.ok(Number(found["views"]) >= 9);
      assert.deepEqual(await hashes(writer.paths.database), before, `${environment} changed bytes`);
      if (!frames) continue;
      assert.deepEqual([found["pandas"], found["polars"]], [trials, trials]);
      assert.deepEqual([found["pandas_view"], found["polars_view"]], [9, 9]);
      assert.deepEqual(found["polars_empty"], [0, ["journal", "position", "trial_id", "problem"]]);
    }
  }));

const READERS = [
  ["readers_duckdb1", /^1\.5\./, true],
  ["readers_duckdb2", /^2\.0\./, false],
] as const;

Deno.test("pare export describes every table and column, and replaces nothing but an export", () =>
  inDirectory(async (directory) => {
    const root = join(directory, "store");
    await recorded(root);
    const out = join(directory, "export");
    await Deno.mkdir(out);
    assert.equal((await exported(root, out)).exitCode, 0, "an empty folder is taken");
    const schema = JSON.parse(await Deno.readTextFile(join(out, "schema.json"))) as Schema;
    await using store = await openStore(root, { write: false });
    const { rows } = await store.query(
      `SELECT table_name AS name, count(*) AS columns FROM duckdb_columns() WHERE NOT internal
       GROUP BY ALL ORDER BY name`,
    );
    const described = schema.tables.map(({ name, columns }) => ({ name, columns: columns.length }));
    assert.deepEqual(described.sort((a, b) => a.name < b.name ? -1 : 1), rows);
    assert.equal(
      schema.journals[`runs/${STUDY}/journal.jsonl`],
      (await Deno.stat(journalOf(root))).size,
    );
    const readme = await Deno.readTextFile(join(out, "README.md"));
    for (const { name } of schema.tables) assert.match(readme, new RegExp(`\\| ${name} \\|`));

    const again = await exported(root, out);
    assert.equal(again.exitCode, 2);
    assert.match(again.stderr, /^pare: Cannot export to .* not empty: .*--force/);
    await Deno.writeTextFile(join(out, "tables", "stray"), "");
    assert.equal((await exported(root, out, "--force")).exitCode, 0);
    assert.deepEqual(
      (await Array.fromAsync(Deno.readDir(join(out, "tables")))).filter((e) => e.name === "stray"),
      [],
    );
    const foreign = join(directory, "mine");
    await Deno.mkdir(foreign);
    await Deno.writeTextFile(join(foreign, "thesis.tex"), "ten years");
    const refused = await exported(root, foreign, "--force");
    assert.match(refused.stderr, /^pare: Cannot replace .* no export of pare's/);
    assert.equal(await Deno.readTextFile(join(foreign, "thesis.tex")), "ten years");
    const names = (await Array.fromAsync(Deno.readDir(directory))).map(({ name }) => name).sort();
    assert.deepEqual(names, ["export", "mine", "store"], "no partial folder is left");
  }));
