import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import type { SampleResult } from "../../../../core/mod.ts";
import {
  comparedRows,
  isBetter,
  isTold,
  verdictOn,
} from "../../../../tracker/exchange/results/compared_rows.ts";
import { folderOf, resultFiles } from "../../../../tracker/exchange/results/result_files.ts";
import { resultsLatex } from "../../../../tracker/exchange/results/results_latex.ts";
import { samplesCsv } from "../../../../tracker/exchange/results/role_files.ts";
import type { RecordedStudy } from "../../../../tracker/lab/recorded_trial.ts";
import { bestRows, resultTable } from "../../../../tracker/show/sweep/result_table.ts";
import { resultsMarkdown } from "../../../../tracker/show/sweep/results_markdown.ts";
import type { StudyView } from "../../../../tracker/show/view/study_view.ts";

const N = 40;

/** A trial with an accuracy on `words` and a perplexity on `text`. */
function trial(number: number, method: string | null, label: string[], scores: [number, number]) {
  const figure = (task: string | null, metric: string, value: number, n = N) => ({
    ...{ task, metric, value, n, slice: null, fidelity: "full", runtime: null },
    ...{ standard_error: 0.01, provenance: "measured", direction: "maximize" },
  });
  return {
    trial_id: `s/t0${number}`,
    number,
    strategy: method === null ? null : {},
    state: "completed",
    actions: method === null ? [] : [{ agent: "kv_cache", method, params: {}, label }],
    artifact_ids: [],
    measurements: [
      figure("words", "accuracy", scores[0]),
      figure("text", "perplexity", scores[1], 9),
      figure(null, "context_kv_bytes", 1000 / (number + 1)),
    ],
  };
}

function viewOf(trials: ReturnType<typeof trial>[], guessing = false): StudyView {
  return {
    study_id: "s",
    request: { model_name: "maker/small", seed: 1 },
    spec: {
      tasks: [
        { task: "words", metric: "accuracy", primary: true, chance: guessing ? 0.89 : 0.1 },
        { task: "text", metric: "perplexity", primary: true },
      ],
    },
    rows: trials.map((one) => ({ trial_id: one.trial_id, recipe: `recipe of ${one.trial_id}` })),
    trials,
  } as unknown as StudyView; // what the table reads of a view
}

const TRIALS = [
  trial(0, null, [], [0.9, 10]),
  trial(1, "snapkv", ["64"], [0.8, 12]),
  trial(2, "streaming", ["4+60"], [0.3, 20]),
  trial(3, "snapkv", ["25%"], [0.85, 11]),
];
const table = resultTable(viewOf(TRIALS))!;

/** Answers of each trial: so many right of N, and losses that its perplexity says. */
const samples = new Map(TRIALS.map(({ trial_id, measurements: [words, text] }) => [
  trial_id,
  [
    ...Array.from({ length: N }, (_, i) => ({
      ...{ task: "words", sample_id: `${i}`, sample_hash: `w${i}`, prompt_hash: "", gold: "a" },
      ...{ score: i < words!.value * N ? 1 : 0, answer: i === 0 ? ' "x", y' : "", seconds: 0.1 },
    })),
    ...Array.from({ length: 9 }, (_, i) => ({
      ...{ task: "text", sample_id: `${i}`, sample_hash: `t${i}`, prompt_hash: "", gold: null },
      ...{ score: Math.log(text!.value) + i / 10 + (i % 3) / 100, answer: null, seconds: 0.1 },
    })),
  ] as unknown as SampleResult[],
]));

Deno.test("the table has the full cache first, budgets as labels say them, the best of each bold", () => {
  const shown = table.rows.map(({ method, budget, average }) => [method, budget, average]);
  assert.deepEqual(shown, [
    ["full", "∞", 0.9],
    ["snapkv", "64", 0.8],
    ["streaming", "64", 0.3],
    ["snapkv", "25%", 0.85],
  ]);
  assert.deepEqual([...bestRows(table)], ["s/t01 0", "s/t01 1", "s/t01 2"]);
  const text = resultsMarkdown(table);
  assert.match(text, /\| Full \| ∞ \| 1\.0 kB \| 90\.0 \| 10\.0 \| 90\.0 \|/);
  assert.match(
    text,
    /\| snapkv \| 64 \| 500 bytes \| \*\*80\.0\*\* \| \*\*12\.0\*\* \| \*\*80\.0\*\* \|/,
  );
  assert.match(text, /Not run under these settings: streaming at 25%, h2o, pyramidkv\./);
  assert.doesNotMatch(text, /†/);
});

Deno.test("a benchmark on which the full cache is guessing is marked, and decides nothing", () => {
  const guessed = resultTable(viewOf(TRIALS, true))!;
  assert.match(resultsMarkdown(guessed), /\| words† \|[^]*not told from guessing on words \(†\)/);
  assert.deepEqual([...bestRows(guessed)], ["s/t01 1"], "no best of it, nor of a mean");
  assert.deepEqual(guessed.rows.map(({ average }) => average), [null, null, null, null]);
  const compared = comparedRows(guessed, "snapkv", samples, 1);
  assert.ok(compared.every(({ tasks }) => tasks.every(({ task }) => task !== "words")));
});

Deno.test("a method is held against others of its budget by both tests, and is not called better alone", () => {
  const compared = comparedRows(table, "snapkv", samples, 1);
  const of = compared.map(({ ours, theirs }) => `${ours.budget} ${theirs.method} ${theirs.budget}`);
  assert.deepEqual(of, ["64 full ∞", "64 streaming 64", "25% full ∞"]);
  const [words, text] = compared[1]!.tasks;
  assert.ok(isTold(words!) && isBetter(words!) && words!.difference === 0.5);
  assert.ok(isTold(text!) && isBetter(text!) && text!.difference < 0, "less of a loss is better");
  assert.ok(words!.t_p_holm! >= words!.t_p!);
  const verdict = verdictOn("snapkv", table, compared);
  assert.match(verdict, /^Of 2 comparisons of snapkv .* 2 are told better and 0 worse/);
  assert.match(
    verdict,
    /It is not called better than the field: streaming at 25%, h2o, pyramidkv were not run/,
  );
  const tex = resultsLatex(table, compared, verdict);
  assert.match(tex, /snapkv & 64 & \\textbf\{80\.0\} /, "no star: some lack");
  const whole = resultsLatex({ ...table, lacking: [] }, compared, verdict);
  assert.match(whole, /snapkv & 64 & \\textbf\{80\.0\}\\rlap\{\$\^\{\*\}/);
  assert.match(tex, /snapkv & 25\\% & 85\.0 /, "two of 40 answers tell nothing");
  assert.match(tex, /Method & Budget & words & text &/);
  const many = Array.from({ length: 16 }, (_, at) => ({ ...table.tasks[0]!, task: `task_${at}` }));
  const wide = resultsLatex({ ...table, tasks: many }, [], null);
  assert.match(wide, /Method & Budget & \\rotatebox\{90\}\{task\\_0\} & /, "or no page holds them");
  assert.match(verdictOn("snapkv", table, []), /^No benchmark compares snapkv with another/);
});

Deno.test("a cell's folder is method, model and budget, and its trial where two would share it", () => {
  assert.deepEqual(table.rows.map((row) => folderOf(row, table)), [
    "full_small_full",
    "snapkv_small_64",
    "streaming_small_64",
    "snapkv_small_25pct",
  ]);
  const twice = resultTable(viewOf([...TRIALS, trial(4, "snapkv", ["64"], [0.7, 13])]))!;
  assert.equal(twice.rows[1]!.method, "recipe of s/t01");
  assert.equal(folderOf(twice.rows[1]!, twice), "recipe-of-s-t01_small_64");
});

Deno.test("the script of a cell hands on where its model and data lie", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const view = {
      ...viewOf(TRIALS.map((one) => ({ ...one, spans: [] }))),
      ...{ phases: [], facts: { device: {} } },
    } as unknown as StudyView; // what a manager's page reads of it, too
    const recorded = { machine: {}, trials: [] } as unknown as RecordedStudy;
    const more = { samples, recorded, locks: {}, experiment: null, ours: "snapkv" };
    const files = resultFiles({ view, table, ...more });
    const [path, text] = Object.entries(files).find(([name]) => name.endsWith("s-t03.sh"))!;
    const script = join(folder, "results", path);
    await mkdir(dirname(script), { recursive: true });
    await writeFile(script, text);
    await writeFile(join(folder, "reproduce.sh"), 'printf "%s;" "$@"');
    const { stdout } = await execa("sh", [script, "--dataset", "my data.jsonl"]);
    assert.equal(stdout, "t03;--dataset;my data.jsonl;");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("per-sample rows say what became of each answer, and any CSV reader reads them", () => {
  const lines = samplesCsv(table, samples).split("\n");
  assert.equal(lines.length, 1 + 4 * (N + 9) + 1);
  assert.match(lines[1]!, /^s\/t00,full,∞,words,0,1,1,right,.*,"\s""x"", y",a$/);
  assert.ok(
    lines.some((line) => line.startsWith("s/t02,streaming,64,text,0,") && line.includes(",worse,")),
  );
  const streaming = lines.filter((line) => line.startsWith("s/t02,streaming,64,words"));
  assert.ok(streaming.filter((line) => line.includes(",empty,")).length > 0);
});
