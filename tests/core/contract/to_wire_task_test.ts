import assert from "node:assert/strict";
import { defineTask, WireTask, wireTask } from "../../../core/mod.ts";

const task = defineTask({
  name: "last_words",
  version: "3",
  summary: "Predicts a word",
  evaluator: "lm_eval",
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

Deno.test("wireTask() carries what the evaluator needs and the path it is given", () => {
  const wire = wireTask(task, "/data/words/test.jsonl.gz");
  assert.deepEqual(WireTask.parse(wire), wire);
  assert.equal(wire.data_path, "/data/words/test.jsonl.gz");
  assert.deepEqual(
    [wire.task, wire.task_version, wire.metric, wire.few_shot],
    ["last_words", "3", "acc,none", 2],
  );
  assert.deepEqual(wire.definition, { output_type: "loglikelihood" });
});

Deno.test("wireTask() without a path leaves the data to lm-eval", () => {
  assert.equal(wireTask(task, null).data_path, null);
});
