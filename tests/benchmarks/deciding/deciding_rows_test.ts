/** The table of deciding: its sizes are the reference's, its replay reads what both trials have. */
import assert from "node:assert/strict";
import type { SampleResult } from "../../../core/mod.ts";
import { deciding, marginRows, table } from "./deciding_rows.ts";
import { differencesOfScores } from "./recorded_trials.ts";
import { benchmarkOf, byFixedInterval, bySequence, fixedSize, simulate } from "./simulate.ts";

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
  assert.deepEqual([...differencesOfScores(reference, own)!], [1, -1, 0]);
  assert.equal(differencesOfScores(reference, [sample("a", 0, 0.5)]), null);
  assert.equal(differencesOfScores(reference, [])!.length, 0);
});
