import assert from "node:assert/strict";
import type { Measurement, TaskPlan } from "../../../core/mod.ts";
import {
  configuredScores,
  scoreInterval,
} from "../../../core/runs/evaluation/evaluation_result.ts";
import { resultDocument } from "../../../core/runs/evaluation/result_document.ts";

/** The figure of a task of right or wrong answers. */
function row(task: string, right: number, n: number, metric = "accuracy"): Measurement {
  const value = right / n;
  return {
    ...{ metric, value, unit: "1", direction: "maximize", n, fidelity: "full" },
    standard_error: n < 2 ? null : Math.sqrt(value * (1 - value) / (n - 1)),
    ...{ provenance: "measured", task, task_version: "1", slice: null, runtime: null },
    ...{ numerics: null, device: null, method: null },
  };
}

const plan = (task: string, metric = "accuracy"): TaskPlan => ({
  ...{ task, task_version: "1", metric, primary: true },
});

const CONFIGURATION = {
  datasets: [
    { dataset: "a", weight: 1, section: "knowledge" },
    { dataset: "b", weight: 3, section: "knowledge" },
    { dataset: "c", weight: 1, section: "options" },
    { dataset: "d", weight: 5, section: "options" },
  ],
  section_weights: { options: 4 },
  left_out: [{ dataset: "z", reason: "no plugin here has it" }],
};

Deno.test("sections are weighted means of their datasets, the overall score one of the sections", () => {
  const tasks = ["a", "b", "c", "d"].map((name) => plan(name));
  const measured = [row("a", 5, 10), row("b", 9, 10), row("c", 20, 20)];
  const found = configuredScores(CONFIGURATION, tasks, measured, { d: "it was refused" })!;
  const { knowledge, options } = found.sections as Record<string, { score: number }>;
  assert.ok(Math.abs(knowledge!.score - .8) < 1e-12);
  assert.equal(options!.score, 1);
  // Weights: knowledge 1 + 3 by its datasets, options 4 as it says, though d is not there.
  assert.ok(Math.abs(found.overall.score - .9) < 1e-12);
  assert.equal(found.overall.n, 40);
  assert.deepEqual(Object.values(found.datasets).map(({ weight }) => weight), [.25, .75, 1]);
  assert.deepEqual(found.left_out.map(({ dataset, reason }) => `${dataset}: ${reason}`), [
    "z: no plugin here has it",
    "d: it was refused",
  ]);
  assert.equal(configuredScores(CONFIGURATION, tasks, [], {}), null, "nothing is measured");
});

Deno.test("no score is certain: an interval of right answers alone has Wilson's lower end", () => {
  const [low, high] = scoreInterval(row("a", 20, 20));
  assert.ok(Math.abs(low - .8389) < 1e-3 && high === 1, `${low}, ${high}`);
  const [one] = scoreInterval(row("a", 1, 1));
  assert.ok(one > .2 && one < .21, "one sample has an interval, too");
  // Drawn by strata, its standard error says that 40 samples are worth fewer.
  const drawn = { value: .5, n: 40, standard_error: .5 / Math.sqrt(9) };
  const plain = scoreInterval({ value: .5, n: 10, standard_error: null });
  assert.deepEqual(scoreInterval(drawn).map((x) => x.toFixed(6)), plain.map((x) => x.toFixed(6)));
});

Deno.test("the interval of a mean of independent scores holds what simulations say", () => {
  // Two datasets, p = .7 and .9, n = 20: the variance is (.21 + .09) / 20 / 4.
  const tasks = [plan("a"), plan("b")];
  const even = { datasets: [], section_weights: {}, left_out: [] };
  const { overall } = configuredScores(even, tasks, [row("a", 14, 20), row("b", 18, 20)])!;
  const [low, high] = overall.interval;
  const half = 1.96 * Math.sqrt((.21 + .09) / 20 / 4);
  assert.ok(Math.abs((high - low) / 2 - half) < .02, `${low}, ${high}, ${half}`);
  assert.ok(low < .8 && high > .8);
});

Deno.test("a figure that is no share is left out with its name", () => {
  const even = { datasets: [], section_weights: {}, left_out: [] };
  const found = configuredScores(even, [plan("a"), plan("p", "perplexity")], [
    row("a", 1, 2),
    row("p", 9, 3, "perplexity"),
  ])!;
  assert.deepEqual(Object.keys(found.datasets), ["a"]);
  assert.match(found.left_out[0]!.reason, /no score from 0 to 1 but perplexity/);
});

Deno.test("the requirement's document has n and interval of every score that it tells", () => {
  const tasks = ["a", "b", "c"].map((name) => plan(name));
  const scores = configuredScores(CONFIGURATION, tasks, [row("a", 5, 10), row("c", 3, 4)])!;
  const told = resultDocument({ eval_config: "own.yaml", num_tasks: null }, scores, {
    ...{ model: "m", timestamp: "2026-11-26T00:00:00Z", study_id: "s" },
  });
  assert.deepEqual(told.config, { llm_model: "m", num_tasks: 14, eval_config: "own.yaml" });
  assert.deepEqual(told.results.section_scores, { knowledge: 50, options: 75 });
  assert.deepEqual(told.results.dataset_scores, { a: .5, c: .75 });
  for (const part of ["section_scores", "dataset_scores"] as const) {
    for (const name of Object.keys(told.results[part])) {
      const { n, interval: [low, high] } = told.evidence[part][name]!;
      assert.ok(n > 0 && low! <= told.results[part][name]! && told.results[part][name]! <= high!);
    }
  }
  assert.equal(told.evidence.overall_score.n, 14);
});
