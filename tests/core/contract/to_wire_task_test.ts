import assert from "node:assert/strict";
import { z } from "zod";
import { defineScorer, defineTask, scorerMetric, WireTask, wireTask } from "../../../core/mod.ts";

const task = defineTask({
  name: "last_words",
  version: "3",
  summary: "Predicts a word",
  scorers: [{ scorer: "nearest", params: { field: "word" } }],
  lm_eval_task: null,
  definition: { output_type: "loglikelihood" },
  data_file: "words/test.jsonl.gz",
  shipped: false,
  few_shot: 2,
  metric: "acc,none",
  reported_metric: "accuracy",
  chance: 0.25,
  proxy_samples: 10,
  full_samples: null,
  window_tokens: null,
  datasets: ["words"],
});

const nearest = defineScorer({
  name: "nearest",
  version: "2",
  summary: "Right where the nearest word is right",
  reads: ["text"],
  metrics: (_, reported) => [scorerMetric(reported)],
  params: z.strictObject({
    field: z.string().describe("of the right word"),
    letters: z.int().min(0).default(1).describe("that may differ"),
  }),
  example: { row: { word: "fox" }, right: { texts: ["fox"] }, wrong: { texts: ["owl"] } },
  python_dir: "/own",
});
const find = () => nearest;

Deno.test("wireTask() carries what asking and scoring need and the path it is given", () => {
  const wire = wireTask(task, "/data/words/test.jsonl.gz", find);
  assert.deepEqual(WireTask.parse(wire), wire);
  assert.equal(wire.data_path, "/data/words/test.jsonl.gz");
  assert.deepEqual(
    [wire.task, wire.task_version, wire.metric, wire.few_shot],
    ["last_words", "3", "acc,none", 2],
  );
  assert.deepEqual(wire.definition, { output_type: "loglikelihood" });
  assert.ok(!("evaluator" in wire), "who asks follows from the task, who scores is a scorer");
  assert.deepEqual(wire.scorers, [{
    scorer: "nearest",
    version: "2",
    params: { field: "word", letters: 1 },
    reads: ["text"],
    metrics: [{ metric: "accuracy", unit: "1", direction: "maximize" }],
    judges: false,
    python_path: "/own/nearest.py",
  }]);
});

Deno.test("wireTask() without a path leaves the data to lm-eval", () => {
  assert.equal(wireTask(task, null, find).data_path, null);
});

Deno.test("wireTask() refuses a knob that the scorer does not take, and one out of its range", () => {
  const wired = (params: Record<string, unknown>) =>
    wireTask({ ...task, scorers: [{ scorer: "nearest", params }] }, null, find);
  assert.throws(
    () => wired({ feild: "word" }),
    /Cannot score by nearest with {"feild":"word"}.*its knobs: field, letters/,
  );
  assert.throws(() => wired({ field: "word", letters: -1 }), /letters: Too small/);
});
