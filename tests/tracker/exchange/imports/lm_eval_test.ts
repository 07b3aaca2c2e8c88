import assert from "node:assert/strict";
import { cp, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { importRuns } from "../../../../tracker/exchange/imports/import_runs.ts";
import { lmEvalRuns } from "../../../../tracker/exchange/imports/lm_eval.ts";
import { parsePythonJson } from "../../../../tracker/exchange/imports/python_json.ts";
import { openStore } from "../../../../tracker/store/store.ts";
import { inDirectory } from "../../../fixtures/stores/processes.ts";

/** What make_lm_eval.py wrote with lm-eval 0.4.13; the description of the machine was taken out. */
const REAL = fileURLToPath(new URL("../../../fixtures/lm_eval", import.meta.url));

Deno.test("lmEvalRuns() gives a run a model with the figures of all its files", async () => {
  const runs = await Array.fromAsync(lmEvalRuns(REAL));
  assert.deepEqual(runs.map(({ name }) => name).sort(), ["org/tiny-a", "org/tiny-b"]);
  const a = runs.find(({ name }) => name === "org/tiny-a")!;
  const figures = a.measurements.map((one) => [one.task, one.metric, one.slice, one.value, one.n]);
  assert.deepEqual(figures.sort(), [
    ["spoken", "bits_per_byte", null, 0.14883665009989186, 4],
    ["spoken", "word_perplexity", null, 1.187609948242744, 4],
    ["sums", "acc", null, 0.25, 8],
    ["sums_a", "acc", null, 0.25, 4],
    ["sums_a", "acc_norm", null, 0.25, 4],
    ["sums_b", "acc", null, 0.25, 4],
    ["sums_b", "acc_norm", null, 0.25, 4],
    ["worked", "exact_match", "flexible-extract", 0, 4],
    ["worked", "exact_match", "strict-match", 0, 4],
  ]);
  const group = a.measurements.find(({ task }) => task === "sums")!;
  assert.deepEqual(
    [group.direction, group.standard_error, group.task_version, group.few_shot],
    ["maximize", 0.1767766952966369, "1", 0],
  );
  const perplexity = a.measurements.find(({ metric }) => metric === "word_perplexity")!;
  assert.deepEqual(
    [perplexity.direction, perplexity.standard_error, perplexity.task_version],
    ["minimize", null, "2"], // lm-eval says N/A for the error
  );
  assert.equal(a.measurements.find(({ task }) => task === "worked")!.few_shot, 1);
  assert.equal(a.params.find(({ param }) => param === "pretrained")!.value, "org/tiny-a");
  assert.equal(a.tags["lm_eval_version"], "0.4.13");
  assert.ok(a.started_at! < a.finished_at!);
});

Deno.test("lm-eval's samples are in the store, and their means are its figures", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    const from = { source: "lm_eval", location: REAL } as const;
    assert.equal((await importRuns(store, from, lmEvalRuns(REAL))).added, 2);
    const again = await importRuns(store, from, lmEvalRuns(REAL));
    assert.deepEqual([again.added, again.updated, again.unchanged], [0, 0, 2]);
    const { rows } = await store.query(
      `SELECT m.task, m.value, avg(s.score) AS mean, count(*) AS n
       FROM imported_measurements m JOIN samples s
         ON s.trial_id = m.trial_id AND s.task = m.task
        AND coalesce(' ' || m.slice, '') = regexp_extract(s.sample_id, '( .*)?$')
       WHERE m.metric IN ('acc', 'exact_match') GROUP BY m.trial_id, m.task, m.slice, m.value`,
    );
    assert.equal(rows.length, 6);
    for (const { value, mean, n } of rows) assert.deepEqual([mean, n], [value, 4]);
    const { rows: [one] } = await store.query(
      `SELECT answer, gold, score, log_likelihood FROM samples
       WHERE task = 'sums_a' AND sample_id = '3' AND trial_id LIKE '%/t00'`,
    );
    assert.deepEqual(one, {
      answer: "15",
      gold: "15",
      score: 1,
      log_likelihood: -0.0823729881966474,
    });
    const { rows: problems } = await store.query("SELECT * FROM problems");
    assert.deepEqual(problems, []);
  }));

Deno.test("a task that was evaluated again says its newest figure, and the run stays one", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "results");
    await cp(REAL, folder, { recursive: true });
    const model = join(folder, "org__tiny-b");
    const [first] = (await readdir(model)).filter((name) => name.startsWith("results_"));
    const text = await Deno.readTextFile(join(model, first!));
    await using store = await openStore(join(directory, "store"), { write: true });
    const from = { source: "lm_eval", location: folder } as const;
    await importRuns(store, from, lmEvalRuns(folder));
    const later = JSON.parse(text);
    later.results = { sums_a: { ...later.results.sums_a, "acc,none": 1 } };
    later.date += 1000;
    const name = join(model, "results_2126-01-01T00-00-00.000000.json");
    // As Python writes what is no number.
    await writeFile(
      name,
      JSON.stringify(later).replace(/"acc_norm,none":[\d.]+/, '"acc_norm,none":NaN'),
    );
    const moved = join(directory, "elsewhere", "results");
    await mkdir(join(directory, "elsewhere"));
    await rename(folder, moved);
    const report = await importRuns(store, { ...from, location: moved }, lmEvalRuns(moved));
    assert.deepEqual([report.added, report.updated, report.unchanged], [0, 1, 1]);
    const { rows } = await store.query(
      `SELECT task, metric, value FROM imported_measurements JOIN imported_runs USING (source_id)
       WHERE name = 'org/tiny-b' AND task IN ('sums_a', 'sums_b') ORDER BY task, metric`,
    );
    assert.deepEqual(rows.map((row) => Object.values(row)), [
      ["sums_a", "acc", 1],
      ["sums_a", "acc_norm", NaN],
      ["sums_b", "acc", 0.75],
      ["sums_b", "acc_norm", 0.25],
    ]);
  }));

Deno.test("lmEvalRuns() refuses a torn results file by its name, at any place, and takes no older one", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "results");
    await cp(REAL, folder, { recursive: true });
    const model = join(folder, "org__tiny-b");
    const [first] = (await readdir(model)).filter((name) => name.startsWith("results_"));
    const text = await Deno.readTextFile(join(model, first!));
    const torn = join(model, "results_2126-01-01T00-00-00.000000.json");
    for (const length of [0, 1, text.length >> 1, text.length - 2]) {
      await writeFile(torn, text.slice(0, length));
      await assert.rejects(
        Array.fromAsync(lmEvalRuns(folder)),
        (error: Error) =>
          error.name === "UsageError" && error.message.startsWith(`Cannot import ${torn} as`) &&
          /cut off, copy it again, or move it out of the folder/.test(error.message),
        `${length} characters`,
      );
    }
    await rename(torn, join(directory, "torn.json"));
    assert.equal((await Array.fromAsync(lmEvalRuns(folder))).length, 2);
  }));

Deno.test("lmEvalRuns() refuses a folder without results and says where a file is wrong", () =>
  inDirectory(async (directory) => {
    await assert.rejects(Array.fromAsync(lmEvalRuns(directory)), /holds no results of lm-eval/);
    await assert.rejects(
      Array.fromAsync(lmEvalRuns(join(directory, "none"))),
      /Cannot import the folder/,
    );
    await writeFile(join(directory, "other.json"), '{"results": 3}');
    await assert.rejects(Array.fromAsync(lmEvalRuns(directory)), /holds no results of lm-eval/);
    await writeFile(join(directory, "results.json"), '{"results": {"arc": 3}}');
    await assert.rejects(Array.fromAsync(lmEvalRuns(directory)), /results\.json .* results\.arc/);
    // An early lm-eval: arguments as one text, no dates, no counts.
    const early = { results: { arc: { "acc,none": 0.5, alias: "arc" } }, config: {} };
    const config = { model_args: "pretrained=org/early,dtype=float16" };
    await writeFile(join(directory, "results.json"), JSON.stringify({ ...early, config }));
    const [run] = await Array.fromAsync(lmEvalRuns(directory));
    assert.equal(run!.name, "org/early");
    assert.deepEqual(run!.params.map(({ param, value }) => [param, value]), [
      ["dtype", "float16"],
      ["pretrained", "org/early"],
    ]);
    assert.deepEqual(run!.measurements.map(({ value, n, direction }) => [value, n, direction]), [
      [0.5, null, null],
    ]);
  }));

Deno.test("parsePythonJson() takes NaN and Infinity as numbers outside texts only", () => {
  assert.deepEqual(
    parsePythonJson('{"a": NaN, "b": [-Infinity, Infinity], "c": "NaN \\" NaN", "NaN": 1}'),
    {
      a: NaN,
      b: [-Infinity, Infinity],
      c: 'NaN " NaN',
      NaN: 1,
    },
  );
});

Deno.test("a file whose date no calendar has is read, its moments unknown", () =>
  inDirectory(async (directory) => {
    const folder = join(directory, "results");
    await cp(REAL, folder, { recursive: true });
    const model = join(folder, "org__tiny-b");
    const names = (await readdir(model)).filter((one) => one.startsWith("results_"));
    for (const name of names) {
      const read = JSON.parse(await Deno.readTextFile(join(model, name)));
      await writeFile(join(model, name), JSON.stringify({ ...read, date: 1e300 }));
    }
    const moments: unknown[] = [];
    for await (const run of lmEvalRuns(folder)) {
      if (run.name === "org/tiny-b") moments.push(run.started_at, run.finished_at);
    }
    assert.deepEqual(moments, [null, null]);
  }));
