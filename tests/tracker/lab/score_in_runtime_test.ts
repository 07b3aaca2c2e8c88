import assert from "node:assert/strict";
import type { Measurement, Numerics, SampleResult } from "../../../core/mod.ts";
import { runtimeQualityRows } from "../../../tracker/show/reports/runtime_quality.ts";
import {
  changeRow,
  computesOtherwise,
  overTasks,
} from "../../../tracker/lab/runner/forms/score_in_runtime.ts";
import { firstAnswers } from "../../../tracker/lab/runner/live_backend.ts";
import { buildView } from "../../../tracker/show/view/build_view.ts";
import { figure, run, world } from "../../core/study_world.ts";

function samples(task: string, scores: readonly number[]): SampleResult[] {
  return scores.map((score, index) => ({
    task,
    sample_id: String(index),
    sample_hash: `${task} ${index}`,
    prompt_hash: "",
    score,
    answer: null,
    gold: null,
    log_likelihood: null,
    seconds: null,
  }));
}

const row: Measurement = {
  ...figure("runtime_accuracy", 0.5, "openvino", 0.25),
  fidelity: "proxy",
  task: "words",
};

Deno.test("changeRow() pairs the runtime's scores with the evaluation's of the same samples", () => {
  const evaluated = [...samples("words", [1, 1, 0, 0]), ...samples("other", [0, 0, 0, 0])];
  const own = samples("words", [1, 0, 0, 0]).reverse();
  const [change] = changeRow(row, own, evaluated);
  assert.equal(change?.metric, "runtime_accuracy_change");
  assert.equal(change.value, -0.25);
  assert.equal(change.n, 4);
  // Differences −1, 0, 0, 0: a deviation of 0.5 over the root of 4.
  assert.ok(Math.abs(change.standard_error! - 0.25) < 1e-12);
  assert.equal(change.runtime, "openvino");
  assert.deepEqual(changeRow(row, own, samples("other", [1])), []);
});

Deno.test("overTasks() weighs the tasks as the study does: one's gain does not hide another's loss", () => {
  const of = (task: string, metric: string, value: number) => ({
    ...row,
    task,
    metric,
    value,
    n: 40,
  });
  const rows = [
    of("words", "runtime_accuracy_change", -0.03),
    of("choices", "runtime_accuracy_change", 0.01),
    of("words", "runtime_accuracy", 0.5),
  ];
  const [change, score] = overTasks(rows, [{ task: "words", weight: 3 }, { task: "choices" }]);
  assert.equal(change!.task, null);
  assert.ok(Math.abs(change!.value + 0.02) < 1e-12);
  assert.equal(change!.n, 80);
  assert.deepEqual([score!.metric, score!.value, score!.n], ["runtime_accuracy", 0.5, 40]);
});

Deno.test("firstAnswers() keeps each artifact's own, also where another is evaluated in between", () => {
  const answers = firstAnswers();
  const [proxy, full, other] = [samples("a", [1]), samples("a", [1, 0]), samples("b", [0])];
  answers.keep("first", proxy, true);
  answers.keep("second", other, true);
  answers.keep("first", full, false);
  assert.deepEqual([answers.of("first"), answers.of("second")], [proxy, other]);
  answers.keep("third", full, false);
  assert.deepEqual([answers.of("third"), answers.of("none")], [full, []]);
});

Deno.test("the report shows what a trial scores as it runs, beside how far its logits are", async () => {
  const w = world();
  const result = await run(w);
  const view = await buildView(result.study_id, w.records, () => Promise.resolve(null));
  assert.deepEqual(runtimeQualityRows(view), []);
  const trials = view.trials.map((trial) =>
    trial.number !== 1 ? trial : {
      ...trial,
      measurements: [
        ...trial.measurements,
        { ...row, n: 40 },
        { ...row, metric: "runtime_accuracy_change", value: -0.025, standard_error: 0.025 },
        figure("runtime_kl", 0.0037, "openvino", null),
      ],
    }
  );
  assert.deepEqual(runtimeQualityRows({ ...view, trials }), [
    ["t01", "words", "0.500 ± 0.25", "40", "-0.0250 ± 0.025", "3.7e-3", "–"],
  ]);
  const apart = (kl: number) =>
    view.trials.map((trial) =>
      trial.number !== 1
        ? trial
        : { ...trial, measurements: [figure("runtime_kl", kl, "llama.cpp", null)] }
    );
  assert.deepEqual(runtimeQualityRows({ ...view, trials: apart(0.0012) }), [
    ["t01", "not scored there", "–", "–", "–", "1.2e-3", "–"],
  ]);
  assert.deepEqual(runtimeQualityRows({ ...view, trials: apart(2e-8) }), []);
});

Deno.test("a runtime scores what it computes otherwise than the evaluation, and nothing else", () => {
  const strict = { inference_precision: "f32", kv_precision: "f32", activation_group: 0 };
  const otherwise = (activation_bits: number | null, numerics: Partial<Numerics>) =>
    computesOtherwise({ activation_bits }, { ...strict, ...numerics });
  assert.equal(otherwise(null, {}), false);
  assert.equal(otherwise(8, { activation_group: 64 }), true);
  assert.equal(otherwise(null, { activation_group: 32 }), true);
  assert.equal(otherwise(null, { inference_precision: "f16" }), true);
  assert.equal(otherwise(null, { kv_precision: "u8" }), true);
});
