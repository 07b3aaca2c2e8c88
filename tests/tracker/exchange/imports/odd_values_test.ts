/** Values that other trackers hold and JavaScript's numbers, JSON or the calendar do not. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  type Foreign,
  importRuns,
  isRun,
} from "../../../../tracker/exchange/imports/import_runs.ts";
import { lmEvalRuns } from "../../../../tracker/exchange/imports/lm_eval.ts";
import { optunaRuns } from "../../../../tracker/exchange/imports/optuna.ts";
import { createMlflowClient } from "../../../../tracker/exchange/mlflow/client/client.ts";
import { connectionOf } from "../../../../tracker/exchange/mlflow/client/connection.ts";
import { databaseRuns } from "../../../../tracker/exchange/mlflow/imports/import_database.ts";
import { folderRuns } from "../../../../tracker/exchange/mlflow/imports/import_folder.ts";
import { serverRuns } from "../../../../tracker/exchange/mlflow/imports/import_server.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

const FROM = { source: "mlflow", location: "here" } as const;
/** A step as of nanoseconds, which no double holds, and a time that no calendar has. */
const [STEP, NANOSECONDS] = ["1764000000000000101", 1.764e18];

/** What each door of MLflow is to give of the same run. */
function checkRun(given: readonly Foreign[]): void {
  const run = given.filter(isRun).find(({ name }) => name === "odd")!;
  assert.deepEqual(run.series.find(({ metric }) => metric === "throughput"), {
    metric: "throughput",
    steps: [-1, STEP],
    values: [-Infinity, 0.5],
    times: [1_764_000_000_000, 1_764_000_000_001],
  });
  assert.equal(run.measurements.find(({ metric }) => metric === "big")!.value, 2 ** 63);
  assert.equal(run.series.find(({ metric }) => metric === "late")!.times, null);
  assert.match(run.left_out![0]!.what, /times of late in the run odd/);
}

const POINTS: [string, number, number, string][] = [
  ["throughput", -Infinity, 1_764_000_000_000, "-1"],
  ["throughput", 0.5, 1_764_000_000_001, STEP],
  ["big", 2 ** 63, 1_764_000_000_000, "0"],
  ["late", 1, NANOSECONDS, "0"],
  ["late", 2, NANOSECONDS, "1"],
];

function mlflowFile(path: string): void {
  using database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE experiments (experiment_id INTEGER, name TEXT, artifact_location TEXT,
      lifecycle_stage TEXT, creation_time BIGINT);
    CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT, end_time BIGINT,
      lifecycle_stage TEXT, experiment_id INTEGER);
    CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT,
      is_nan BOOLEAN);
    CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
    CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
    INSERT INTO experiments VALUES (1, 'e', '', 'active', 1);
    INSERT INTO runs VALUES ('a', 'odd', 'FINISHED', 1, 2, 'active', 1);
    INSERT INTO runs VALUES ('b', 'broken', 'FINISHED', 'yesterday', 2, 'active', 1);
    INSERT INTO runs VALUES ('c', 'fine', 'FINISHED', 1, 2, 'active', 1);`);
  for (const [key, value, time, step] of POINTS) {
    const stored = Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
    database.prepare("INSERT INTO metrics VALUES (?, ?, ?, 'a', ?, 0)")
      .run(key, stored, BigInt(time), BigInt(step));
  }
}

Deno.test("MLflow's file: large steps, infinities and times beyond the calendar; a bad run is named", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "mlflow.db");
    mlflowFile(path);
    checkRun([...databaseRuns(path, undefined)]);
    const root = join(folder, "store");
    await using store = await openStore(root, { write: true });
    const { added, left_out } = await importRuns(store, FROM, databaseRuns(path, undefined));
    assert.equal(added, 2);
    assert.deepEqual(left_out.map(({ what }) => what).sort(), [
      "the run b",
      "times of late in the run odd",
    ]);
    const { rows } = await store.query(
      "SELECT step, value FROM imported_series WHERE metric = 'throughput' ORDER BY step",
    );
    assert.deepEqual(rows, [{ step: -1, value: -Infinity }, { step: STEP, value: 0.5 }]);
    const problems = await store.query("SELECT * FROM problems");
    assert.deepEqual(problems.rows, []);
  }));

Deno.test("MLflow's folder gives the same", () =>
  inDirectory(async (folder) => {
    const run = join(folder, "1", "a");
    await mkdir(join(run, "metrics"), { recursive: true });
    await writeFile(join(folder, "1", "meta.yaml"), "experiment_id: '1'\nname: e\n");
    await writeFile(join(run, "meta.yaml"), "run_id: a\nrun_name: odd\nstatus: 3\n");
    await mkdir(join(folder, "1", "b"));
    await writeFile(join(folder, "1", "b", "meta.yaml"), "run_id: [broken\n");
    const word = (value: number) => value === -Infinity ? "-inf" : String(value);
    for (const [metric, points] of Map.groupBy(POINTS, ([key]) => key)) {
      const lines = points.map(([, value, time, step]) => `${time} ${word(value)} ${step}\n`);
      await writeFile(join(run, "metrics", metric), lines.join(""));
    }
    const given = [...folderRuns(folder, undefined)];
    checkRun(given);
    assert.match(given.map((one) => JSON.stringify(one)).join(), /"left_out".*1\/b/);
  }));

Deno.test("MLflow's server gives the same, its integers digit by digit", () =>
  inDirectory(async () => {
    const wire = (value: number) => value === -Infinity ? '"-Infinity"' : String(BigInt(2) ** 63n);
    const text = (value: number) =>
      Number.isFinite(value) && value < 1e15 ? String(value) : wire(value);
    const point = ([key, value, time, step]: typeof POINTS[number]) =>
      `{"key": "${key}", "value": ${text(value)}, "timestamp": ${BigInt(time)}, "step": ${step}}`;
    const answers: Record<string, (query: URLSearchParams) => string> = {
      "experiments/search": () => '{"experiments": [{"experiment_id": "1", "name": "e"}]}',
      "runs/search": () =>
        `{"runs": [{"info": {"run_id": "a", "run_name": "odd", "experiment_id": "1",
          "status": "FINISHED"}, "data": {"metrics": [${
          POINTS.filter((one, i) => POINTS.findLastIndex(([key]) => key === one[0]) === i)
            .map(point)
        }]}}]}`,
      "metrics/get-history": (query) =>
        `{"metrics": [${POINTS.filter(([key]) => key === query.get("metric_key")).map(point)}]}`,
    };
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
      const { pathname, searchParams } = new URL(request.url);
      return new Response(answers[pathname.replace("/api/2.0/mlflow/", "")]!(searchParams));
    });
    try {
      const client = createMlflowClient(connectionOf(`http://127.0.0.1:${server.addr.port}`, {}));
      checkRun(await Array.fromAsync(serverRuns(client, undefined)));
    } finally {
      await server.shutdown();
    }
  }));

function optunaFile(path: string): void {
  using database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE version_info (schema_version INTEGER, library_version TEXT);
    INSERT INTO version_info VALUES (12, '4.5.0');
    CREATE TABLE studies (study_id INTEGER, study_name TEXT);
    INSERT INTO studies VALUES (1, 's');
    CREATE TABLE study_directions (study_id INTEGER, direction TEXT, objective INTEGER);
    INSERT INTO study_directions VALUES (1, 'MINIMIZE', 0);
    CREATE TABLE study_user_attributes (study_id INTEGER, key TEXT, value_json TEXT);
    CREATE TABLE study_system_attributes (study_id INTEGER, key TEXT, value_json TEXT);
    CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT,
      datetime_start TEXT, datetime_complete TEXT);
    CREATE TABLE trial_params (param_id INTEGER, trial_id INTEGER, param_name TEXT,
      param_value FLOAT, distribution_json TEXT);
    CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value FLOAT, value_type TEXT);
    CREATE TABLE trial_intermediate_values (trial_id INTEGER, step INTEGER,
      intermediate_value FLOAT, intermediate_value_type TEXT);
    CREATE TABLE trial_user_attributes (trial_id INTEGER, key TEXT, value_json TEXT);
    CREATE TABLE trial_system_attributes (trial_id INTEGER, key TEXT, value_json TEXT);`);
  for (const n of [0, 1, 2]) {
    const at = "'2026-01-01 00:00:00'";
    database.exec(`INSERT INTO trials VALUES (${n}, ${n}, 1, 'COMPLETE', ${at}, ${at});`);
    database.exec(`INSERT INTO trial_values VALUES (${n}, 0, ${n}, 'FINITE')`);
  }
  const choices = '[[32], {"bits": 4}, NaN, null, true]';
  const param = database.prepare("INSERT INTO trial_params VALUES (?, ?, ?, ?, ?)");
  for (const choice of [0, 1, 2, 3, 4]) {
    const of = `{"name": "CategoricalDistribution", "attributes": {"choices": ${choices}}}`;
    param.run(choice, 0, `p${choice}`, choice, of);
  }
  param.run(9, 1, "torn", 0, '{"name": "Float');
  database.exec(`
    INSERT INTO trial_intermediate_values VALUES (2, ${STEP}, 0.5, 'FINITE');
    INSERT INTO trial_user_attributes VALUES (2, 'loss', 'NaN'), (2, 'all', '[1, Infinity]');`);
}

Deno.test("Optuna's file: choices of any kind, NaN in attributes, large steps; a bad trial is named", () =>
  inDirectory((folder) => {
    const path = join(folder, "study.db");
    optunaFile(path);
    const given = [...optunaRuns(path)];
    const runs = given.filter(isRun);
    assert.deepEqual(runs.map(({ number }) => number), [0, 2]);
    const named = given.find((one) => !isRun(one));
    assert.match(JSON.stringify(named), /trial 1 of the study s/);
    assert.deepEqual(runs[0]!.params.map(({ value }) => value), [
      ...["[32]", '{"bits":4}', "NaN", null, true],
    ]);
    assert.equal(runs[0]!.params[0]!.distribution, 'one of [32], {"bits":4}, NaN, null, true');
    assert.deepEqual(runs[1]!.series[0]!.steps, [STEP]);
    assert.deepEqual(runs[1]!.tags, { all: "[1, Infinity]", loss: "NaN" });
    return Promise.resolve();
  }));

/** A results file of lm-eval with one figure. */
async function results(
  folder: string,
  { hour, task, acc, shots, limit = null }: {
    hour: number;
    task: string;
    acc: number;
    shots: number;
    limit?: number | null;
  },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const name = `results_2026-11-01T${hour}-00-00.000001.json`;
  await writeFile(
    join(folder, name),
    JSON.stringify({
      results: { [task]: { "acc,none": acc } },
      "n-shot": { [task]: shots },
      config: { model_args: { pretrained: "org/m" }, limit },
      date: 1764000000 + 3600 * hour,
      model_name: "org/m",
    }),
  );
}

Deno.test("lm-eval: other shots and a limit are runs of their own; the same again replaces", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "out", "org__m");
    await results(folder, { hour: 10, task: "arc", acc: 0.3, shots: 0 });
    await results(folder, { hour: 11, task: "arc", acc: 0.4, shots: 5 });
    await results(folder, { hour: 12, task: "arc", acc: 0.6, shots: 0, limit: 10 });
    await results(folder, { hour: 13, task: "mmlu", acc: 0.7, shots: 2 });
    await results(folder, { hour: 14, task: "arc", acc: 0.31, shots: 0 });
    const runs = await Array.fromAsync(lmEvalRuns(join(directory, "out")));
    assert.deepEqual(
      runs.map(({ name, measurements }) => [
        name,
        measurements.map(({ task, value, few_shot }) => [task, value, few_shot]),
      ]),
      [
        ["org/m", [["arc", 0.31, 0], ["mmlu", 0.7, 2]]],
        ["org/m (5 shots)", [["arc", 0.4, 5]]],
        ["org/m (limit 10)", [["arc", 0.6, 0]]],
      ],
    );
    assert.equal(new Set(runs.map(({ source_id }) => source_id)).size, 3);
  }));
