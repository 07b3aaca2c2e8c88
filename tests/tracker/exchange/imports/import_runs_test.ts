import assert from "node:assert/strict";
import { type ForeignRun, importRuns } from "../../../../tracker/exchange/imports/import_runs.ts";
import { seriesParts } from "../../../../tracker/exchange/imports/series_parts.ts";
import { studyId } from "../../../../tracker/exchange/imports/study_id.ts";
import { openStore, rebuildDatabase, type Store } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

const FROM = { source: "mlflow", location: "http://127.0.0.1:5000" } as const;

function run(source_id: string, more: Partial<ForeignRun> = {}): ForeignRun {
  const measurement = {
    metric: "accuracy",
    value: 0.5,
    unit: null,
    direction: "maximize" as const,
    n: 10,
    standard_error: NaN,
    task: "arc",
    task_version: "1",
    slice: null,
    few_shot: 0,
    objective: null,
  };
  return {
    source_id,
    study_id: "mlflow-exp-000000",
    study_name: "exp",
    number: null,
    name: `run ${source_id}`,
    parent_id: null,
    state: "completed",
    failure_message: null,
    started_at: "2026-03-01T12:00:00.000Z",
    finished_at: "2026-03-01T12:00:30.000Z",
    params: [
      { param: "lr", value: 0.1, distribution: "float 0.001 to 1 log" },
      { param: "kind", value: "adam", distribution: null },
      { param: "none", value: null, distribution: null },
    ],
    measurements: [measurement, {
      ...measurement,
      metric: "loss",
      value: Infinity,
      direction: null,
    }],
    series: [{ metric: "loss", steps: [0, 1, 2], values: [3, NaN, 1], times: [1e12, 2e12, 3e12] }],
    tags: { note: "it's a note" },
    ...more,
  };
}

const COUNTS = `SELECT
  (SELECT count(*) FROM imported_runs) AS runs, (SELECT count(*) FROM imported_params) AS params,
  (SELECT count(*) FROM imported_measurements) AS measurements,
  (SELECT count(*) FROM imported_series) AS points, (SELECT count(*) FROM imported_tags) AS tags`;

async function counts(store: Store): Promise<unknown[]> {
  await store.flush();
  return Object.values((await store.query(COUNTS)).rows[0]!);
}

Deno.test("importRuns() takes runs into their tables, and the same ones again change nothing", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const first = await importRuns(store, FROM, [run("a"), run("b")]);
    assert.deepEqual(first, {
      added: 2,
      updated: 0,
      unchanged: 0,
      study_ids: ["mlflow-exp-000000"],
      left_out: [],
    });
    assert.deepEqual(await counts(store), [2, 6, 4, 6, 2]);
    const { journal_bytes } = await store.status();
    const second = await importRuns(store, { ...FROM, location: "elsewhere" }, [
      run("a"),
      run("b"),
    ]);
    assert.deepEqual([second.added, second.updated, second.unchanged], [0, 0, 2]);
    assert.equal((await store.status()).journal_bytes, journal_bytes);
    assert.deepEqual(await counts(store), [2, 6, 4, 6, 2]);
    const { rows } = await store.query(
      "SELECT trial_id, metrics, params, seconds FROM imported_summary ORDER BY number",
    );
    assert.deepEqual(rows[1], {
      trial_id: "mlflow-exp-000000/t01",
      metrics: { "arc/accuracy": 0.5, "arc/loss": Infinity },
      params: { kind: "adam", lr: "0.1", none: null },
      seconds: 30,
    });
    const { rows: points } = await store.query(
      "SELECT step, value FROM imported_series WHERE source_id = 'a' ORDER BY step",
    );
    assert.deepEqual(points.map((point) => point["value"]), [3, NaN, 1]);
  }));

Deno.test("importRuns() replaces a run that went on and keeps its place in the store", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    await importRuns(store, FROM, [run("a", { state: "running", finished_at: null }), run("b")]);
    const moved = { study_id: "mlflow-other-000000", number: 7 };
    const report = await importRuns(store, FROM, [run("a", { ...moved, params: [] }), run("c")]);
    assert.deepEqual([report.added, report.updated, report.unchanged], [1, 1, 0]);
    await store.flush();
    const { rows } = await store.query(
      "SELECT source_id, trial_id, state FROM imported_runs ORDER BY number",
    );
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      ["a", "mlflow-exp-000000/t00", "completed"],
      ["b", "mlflow-exp-000000/t01", "completed"],
      ["c", "mlflow-exp-000000/t02", "completed"],
    ]);
    const before = await counts(store);
    assert.deepEqual(before, [3, 6, 6, 9, 3]);
    await rebuildDatabase(store);
    assert.deepEqual(await counts(store), before);
  }));

Deno.test("importRuns() keeps a run's samples, and takes a run that was cut off again", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const sample = {
      task: "arc",
      sample_id: "0",
      sample_hash: "h",
      prompt_hash: "p",
      score: NaN,
      answer: "NaN",
      gold: null,
      log_likelihood: -Infinity,
    };
    const one = run("a", { samples: [sample, { ...sample, sample_id: "1", score: 1 }] });
    await importRuns(store, FROM, [one]);
    await store.flush();
    const { rows } = await store.query("SELECT score, answer, log_likelihood AS l FROM samples");
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      [NaN, "NaN", -Infinity],
      [1, "NaN", -Infinity],
    ]);
    // What a kill in the middle leaves: the first part of a run, without its hash.
    const { samples: _, ...content } = run("b", { study_id: "mlflow-exp-000000" });
    const place = { ...FROM, number: 1, trial_id: "mlflow-exp-000000/t01" };
    const at = "2026-03-01T12:00:00.000Z";
    await store.record({
      type: "run_imported",
      at,
      part: 0,
      content_hash: null,
      ...content,
      ...place,
    });
    const again = await importRuns(store, FROM, [one, run("b")]);
    assert.deepEqual([again.added, again.updated, again.unchanged], [0, 1, 1]);
    assert.deepEqual(await counts(store), [2, 6, 4, 6, 2]);
  }));

Deno.test("importRuns() writes a long series in several records, whole and once", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const steps = Array.from({ length: 25_000 }, (_, step) => step);
    const series = [{ metric: "loss", steps, values: steps.map((step) => step / 2), times: null }];
    const full: Store = {
      ...store,
      record: (record) =>
        record.type === "run_imported" && record.part === 1
          ? Promise.reject(new Error("the disk is full"))
          : store.record(record),
    };
    await assert.rejects(importRuns(full, FROM, [run("a", { series })]), /disk is full/);
    const whole = await importRuns(store, FROM, [run("a", { series })]);
    assert.equal(whole.updated, 1, "a run whose second record is missing is taken again");
    await importRuns(store, FROM, [run("a", { series, name: "renamed" })]);
    await store.flush();
    const { rows } = await store.query(
      "SELECT count(*) AS n, max(value) AS top, (SELECT name FROM imported_runs) AS name FROM imported_series",
    );
    assert.deepEqual(rows, [{ n: 25_000, top: 12_499.5, name: "renamed" }]);
    const again = await importRuns(store, FROM, [run("a", { series, name: "renamed" })]);
    assert.equal(again.unchanged, 1);
  }));

Deno.test("imported_leaderboard ranks under each figure whose direction is known, NaN last", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const figure = run("x").measurements[0]!;
    const scored = (source_id: string, value: number, direction: "maximize" | "minimize" | null) =>
      run(source_id, { measurements: [{ ...figure, value, direction }] });
    await importRuns(store, FROM, [
      scored("a", 0.5, "maximize"),
      scored("b", NaN, "maximize"),
      scored("c", 0.9, "maximize"),
      scored("d", 1, null),
      run("e", { state: "failed" }),
    ]);
    await store.flush();
    const { rows } = await store.query(
      "SELECT rank, name FROM imported_leaderboard ORDER BY rank",
    );
    assert.deepEqual(rows, [
      { rank: 1, name: "run c" },
      { rank: 2, name: "run a" },
      { rank: 3, name: "run b" },
    ]);
    const all = await store.query("SELECT count(*) AS n FROM all_measurements");
    assert.deepEqual(all.rows, [{ n: 6 }]);
  }));

Deno.test("seriesParts() cuts at the point limit and keeps every point in order", () => {
  const series = [
    { metric: "a", steps: [1, 2, 3], values: [1, 2, 3], times: [10, 20, 30] },
    { metric: "b", steps: [], values: [], times: null },
    { metric: "c", steps: [4, 5], values: [4, 5], times: null },
  ];
  assert.deepEqual(seriesParts(series, 2), [
    [{ metric: "a", steps: [1, 2], values: [1, 2], times: [10, 20] }],
    [{ metric: "a", steps: [3], values: [3], times: [30] }, {
      metric: "c",
      steps: [4],
      values: [4],
      times: null,
    }],
    [{ metric: "c", steps: [5], values: [5], times: null }],
  ]);
  assert.deepEqual(seriesParts([]), [[]]);
});

Deno.test("studyId() is plain whatever the name, and tells equal names apart", () => {
  assert.match(studyId("optuna", "my study/../1", "x"), /^optuna-my-study-\.\.-1-[0-9a-f]{6}$/);
  assert.notEqual(studyId("optuna", "a", "1"), studyId("optuna", "a", "2"));
});
