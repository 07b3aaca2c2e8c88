/** The table of deciding: its sizes are the reference's, its replay reads what both trials have. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { type SampleResult, seededRandom } from "../../../core/mod.ts";
import {
  deciding,
  type DecidingRow,
  marginRows,
  pageTable,
  PREDICTED,
  RECORDED_WAYS,
  table,
  UNSURE,
} from "./deciding_rows.ts";
import { cellsOf, tableOf } from "../cells/kept_tables.ts";
import { simulateAnswered, unsureBenchmark } from "./by_predictor.ts";
import {
  byTask,
  flipsByFifth,
  nearestTo,
  placesByFifth,
  type RecordedTrial,
  recordedTrial,
  repeated,
} from "./recorded_trials.ts";
import {
  benchmarkOf,
  byFixedInterval,
  bySequence,
  fixedSize,
  LIMIT,
  simulate,
} from "./simulate.ts";

Deno.test("fixedSize() gives the reference's sizes at a power of 90 %", () => {
  const size = (flips: number, drop: number, distance: number) =>
    fixedSize({ population: 5000, flips, drop }, distance);
  assert.deepEqual([size(0.1, 0.01, 0.01), size(0.1, 0, 0.02), size(0.2, 0.05, 0.03)], [
    3156,
    1500,
    1366,
  ]);
});

Deno.test("a way of deciding is right about a drop that no order of samples hides", () => {
  const deciders = { own: bySequence(0.02), looked: byFixedInterval(0.02) };
  const found = simulate({ population: 1000, flips: 0.3, drop: 0.3 }, 0.02, 20, 1, deciders);
  for (const { wrong, decided, median } of Object.values(found)) {
    assert.deepEqual([wrong, decided], [0, 1]);
    assert.ok(median < 200);
  }
  const row = deciding("s/t01", benchmarkOf({ population: 400, flips: 0.1, drop: 0 }), 5, 1, 0.01);
  assert.deepEqual([row.source, row.flips, row.drop], ["s/t01", 0.1, 0]);
  const lines = table([row]).split("\n");
  assert.equal(lines.length, 3);
  assert.match(lines[2]!, /^\| s\/t01 \| 400 \| 10\.00 \| 0\.0000 \| 0\.00 \|/);
});

Deno.test("drawing what is likely to change decides sooner, and no less rightly", () => {
  const [alike, unsure] = marginRows(1000, 0, 60, 5, 0.01);
  assert.ok(unsure!.own.median < alike!.own.median, `${unsure!.own.median}`);
  assert.ok(unsure!.own.wrong <= 0.05 && alike!.own.wrong <= 0.05);
  assert.match(table([unsure!]), /\| – \| – \|$/);
});

Deno.test("recorded answers are replayed over the samples that both have, right or wrong ones alone", () => {
  const sample = (task: string, i: number, score: number): SampleResult => ({
    ...{ task, sample_id: String(i), sample_hash: String(i), prompt_hash: "", score },
    ...{ answer: null, gold: null, log_likelihood: null },
  });
  const reference = [sample("a", 0, 1), sample("a", 1, 0), sample("b", 0, 1), sample("b", 1, 1)];
  const own = [sample("a", 0, 0), sample("a", 1, 1), sample("b", 0, 1)];
  const differences = (some: SampleResult[]) =>
    recordedTrial("s/t01", reference, some)?.differences;
  assert.deepEqual([...differences(own)!], [1, -1, 0]);
  assert.equal(differences([sample("a", 0, 0.5)]), undefined);
  assert.equal(differences([])!.length, 0);
});

/** Answers of a trial that turn where the original was unsure, and lose nats as they do. */
function recorded(name: string, seed: number, drop: number): RecordedTrial {
  const random = seededRandom(seed);
  const n = 600;
  const unsure = Float64Array.from({ length: n }, () => random() ** 3);
  const differences = Int8Array.from(unsure, (one) => {
    const turned = random() < 0.5 * one;
    return turned ? (random() < 0.5 + 3 * drop ? 1 : -1) : 0;
  });
  const samples = [...differences].map((d, i): SampleResult => ({
    ...{ task: i % 2 === 0 ? "a" : "b", sample_id: String(i), sample_hash: String(i) },
    ...{ prompt_hash: "", score: d < 0 ? 0 : 1, answer: null, gold: null },
    log_likelihood: null,
  }));
  const scores = samples.map(({ score }, i) => score - differences[i]!);
  return { name, samples, scores, differences, unsure };
}

Deno.test("fifths and their flips come from the recorded answers", () => {
  const sample = (i: number, score: number, choices: number[], nats: number): SampleResult => ({
    ...{ task: "a", sample_id: String(i), sample_hash: String(i), prompt_hash: "", score },
    ...{ answer: null, gold: null, log_likelihood: nats, choice_log_likelihoods: choices },
  });
  const reference = [
    sample(0, 1, [-1, -1.1], -1),
    sample(1, 1, [-1, -9], -1),
    sample(2, 0, [], -0.7),
  ];
  const own = [sample(0, 0, [-1, -1], -2), sample(1, 1, [-1, -2], -1.5), sample(2, 0, [], -0.7)];
  const { unsure } = recordedTrial("s/t01", reference, own)!;
  assert.ok(Math.abs(unsure[0]! - Math.exp(-0.1)) < 1e-12 && unsure[1]! < 0.001);
  assert.ok(unsure[2]! > 0.99, "a likelihood of a half is as unsure as there is");
  const trials = [1, 2, 3].map((seed) => recorded(`s/t0${seed}`, seed, 0));
  const [first, ...others] = trials;
  const fifths = placesByFifth(first!);
  assert.deepEqual(fifths.map((places) => places.length), [120, 120, 120, 120, 120]);
  assert.deepEqual(fifths.flat().toSorted((a, b) => a - b), [...first!.unsure.keys()]);
  const flips = flipsByFifth(others);
  assert.ok(flips[0]! > 3 * flips[2]! && flips[4]! < 0.02, `${flips}`);
  const of = (name: string, lost: number) => ({
    ...first!,
    name,
    differences: new Int8Array(100).fill(1, 0, lost),
  });
  const several = [of("none", 0), of("some", 3), of("many", 30)];
  assert.deepEqual(nearestTo([0, 0.01, 0.03, 0.1], several).map(({ name }) => name), [
    "none",
    "some",
  ]);
  const larger = repeated(first!, 1500);
  assert.deepEqual([larger.name, larger.scores.length], ["s/t01, each answer 3 times", 1800]);
  assert.equal(new Set(larger.samples.map((one) => one.sample_hash)).size, 1800);
  const parts = byTask(first!);
  assert.deepEqual(parts.map(({ name, unsure }) => [name, unsure.length]), [
    ["s/t01 on a", 300],
    ["s/t01 on b", 300],
  ]);
  assert.deepEqual(byTask(parts[0]!), [], "it is of one task already");
  assert.equal(repeated(first!, 100).name, "s/t01");
});

Deno.test("the original's answers decide sooner where flips follow them, and no less rightly", () => {
  const setting = { population: 2000, flips: 0.2, drop: 0.05 };
  const about = { limit: LIMIT, studies: 60, seed: 7 };
  const benchmark = unsureBenchmark(setting);
  const [with_them, without] = [true, false].map((used) =>
    simulateAnswered(benchmark, used, about)
  );
  assert.ok(with_them!.median < without!.median, `${with_them!.median} of ${without!.median}`);
  for (const { wrong } of [with_them!, without!]) assert.ok(wrong <= 0.05, `${wrong}`);
});

Deno.test("the page has a line a benchmark, with what the better ways take of the fixed size", () => {
  const setting = { population: 5000, flips: 0.1, drop: 0 };
  const own = { wrong: 0.01, decided: 1, median: 1300, most: 2000 };
  const of = (source: string, median: number, more = {}) => ({
    ...{ source, ...setting, own: { ...own, median }, looked: null, fixed: 2600, ...more },
  });
  const rows = [
    of("simulated", 1300, { looked: { ...own, wrong: 0.2 } }),
    of(UNSURE, 910),
    of(PREDICTED, 1040),
    of("s/t01", 650, { population: 400, flips: 0.12 }),
    of(`s/t01${RECORDED_WAYS[0]}`, 520),
    of(`s/t01${RECORDED_WAYS[1]}`, 260),
  ];
  const lines = pageTable(rows).split("\n").slice(2);
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /\| 1300 \| 2600 \| 0\.50 \| 0\.35 \| 0\.40 \| 20\.0 \|$/);
  assert.match(lines[1]!, /^\| t01 \| 12\.0 .*\| 0\.25 \| 0\.20 \| 0\.10 \| – \|$/);
});

Deno.test("the page has the table of the kept rows, none of them wrong in more than a twentieth", async () => {
  const text = (path: string) => readFile(new URL(path, import.meta.url), "utf8");
  const { rows } = JSON.parse(await text("./deciding.json")) as { rows: DecidingRow[] };
  const page = tableOf(await text("../../../docs/measurements/deciding.md"), "deciding");
  assert.deepEqual(cellsOf(page), cellsOf(pageTable(rows)));
  assert.ok(rows.every(({ own }) => own.wrong <= 0.05));
});
