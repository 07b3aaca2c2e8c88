import assert from "node:assert/strict";
import { ratioTable, reaches, timesBetter } from "../tracker/ratio_table.ts";
import {
  evaluationNotes,
  proxyRows,
  rateRows,
  scoreTable,
  unequalSamples,
} from "./evaluation_rows.ts";
import type { ComparedTask, EvaluationResult, StageCost } from "./run_evaluation.ts";

const task: ComparedTask = {
  samples: 10,
  seconds: [1, 4, 2],
  plain_seconds: [8, 3, 5],
  plain_batch_size: 4,
  tried: { "1": 9, "4": 8 },
  unequal: 0,
  largest_difference: 0,
  value: 0.5,
  plain_value: 0.5,
};
const stage = (seconds: number, requests: number, reused_requests: number): StageCost => ({
  seconds,
  requests,
  reused_requests,
  values: [0.5],
});
const result: EvaluationResult = {
  tasks: { lambada: task, gsm8k: { ...task, unequal: 2, largest_difference: 1, value: 0.3 } },
  proxy: { alone: stage(10, 40, 0), proxy: stage(6, 20, 0), full: stage(7, 40, 20) },
};

Deno.test("rateRows() compares the medians of both sides' passes", () => {
  const [row] = rateRows(result.tasks);
  assert.equal(row!.ours, 5);
  assert.deepEqual(row!.peer, { name: "lm-eval, batch 4", figure: 2 });
  assert.equal(timesBetter(row!), 2.5);
  assert.equal(reaches(row!), true);
  assert.equal(reaches({ ...row!, ours: 1.9 }), false);
});

Deno.test("a task is alike where medians are near and passes overlap, and the table says so", () => {
  const of = (seconds: number[], plain_seconds: number[]) =>
    rateRows({ wikitext2: { ...task, seconds, plain_seconds } })[0]!;
  assert.equal(of([4.6, 5.1], [4.7, 4.9]).alike, true);
  assert.match(ratioTable([of([4.6, 5.1], [4.7, 4.9])]), /0\.99×\s+≥ 1×\s+alike/);
  assert.equal(of([5.0, 5.1], [4.8, 4.9]).alike, false);
  assert.equal(of([4.6, 6.1], [4.7, 4.9]).alike, false);
  assert.match(ratioTable([of([4.6, 6.1], [4.7, 4.9])]), /NO/);
});

Deno.test("proxyRows() adds both stages; there are none where no task takes part", () => {
  assert.equal(proxyRows(result.proxy)[0]!.ours, 13);
  assert.deepEqual(proxyRows(null), []);
});

Deno.test("unequal scores are counted over all tasks and shown for each", () => {
  assert.equal(unequalSamples(result.tasks), 2);
  const lines = scoreTable(result.tasks).split("\n");
  assert.match(lines[2]!, /lambada\s+10\s+0\s+0\s+0\.5000\s+0\.5000/);
  assert.match(lines[3]!, /gsm8k\s+10\s+2\s+1\.0e\+0\s+0\.3000\s+0\.5000/);
});

Deno.test("the notes tell passes, batch sizes, requests and loads", () => {
  const notes = evaluationNotes(result, [0.5, 2]).join("\n");
  assert.match(notes, /lambada: ours 1\.00 to 4\.00 s, lm-eval's 3\.00 to 8\.00 s \(3 passes/);
  assert.match(notes, /by batch size 1: 9\.0, 4: 8\.0 s/);
  assert.match(notes, /40 of the full evaluation alone; 20 of the proxy and 20 more/);
  assert.match(notes, /Load average 0\.5 at the start, 2\.0 at the end/);
});
