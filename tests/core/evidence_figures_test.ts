/** Figures against values worked out by hand: each is off where a unit, a mean or a scale is. */
import assert from "node:assert/strict";
import {
  comparableStudy,
  compareQuality,
  type Evaluation,
  frontHypervolume,
  type Measurement,
  type Spec,
  type Trial,
  withAggregates,
} from "../../core/mod.ts";
import { smallFacts } from "./spec_fixtures.ts";
import { figure, run, world } from "./study_world.ts";

const { spec } = world().input();
const near = (value: number, expected: number) =>
  assert.ok(Math.abs(value - expected) < 1e-9 * Math.max(1, Math.abs(expected)), `${value}`);

function perplexity(task: string, value: number, standard_error: number): Measurement {
  return { ...figure("perplexity", value, null, standard_error), task };
}

const texts: Spec = {
  ...spec,
  objectives: [{ metric: "perplexity", direction: "minimize", unit: "1" }],
  tasks: ["a", "b"].map((task) => ({
    ...spec.tasks[0]!,
    task,
    metric: "perplexity",
    primary: true,
  })),
};

Deno.test("the perplexity of two texts is the geometric mean, its error that of the logarithms", () => {
  const measurements = [perplexity("a", 10, 1), perplexity("b", 40, 4)];
  const found = withAggregates({ measurements, samples: [], protocol: {} }, texts)
    .measurements.at(-1)!;
  near(found.value, 20); // √(10 · 40)
  near(found.standard_error!, Math.SQRT2); // 10 % each: 20 · √(0.1² + 0.1²) / 2
});

Deno.test("a rise of perplexity is a ratio, its interval too", () => {
  const evaluation = (losses: readonly number[]): Evaluation => ({
    measurements: [perplexity("a", 1, 1)],
    samples: losses.map((score, i) => ({
      ...{ task: "a", sample_id: `${i}`, sample_hash: `${i}`, prompt_hash: "", score },
      ...{ answer: null, gold: null, log_likelihood: null },
    })),
    protocol: {},
  });
  // The differences are 0.1 and 0.3: mean 0.2, deviation √0.02, standard error 0.1.
  const compared = compareQuality(texts, "full", evaluation([2, 3]), evaluation([2.1, 3.3]))!;
  near(compared.drop, Math.exp(0.2) - 1);
  const [low, high] = compared.interval!;
  near(low, Math.exp(0.2 - 0.1959963984540054) - 1);
  near(high, Math.exp(0.2 + 0.1959963984540054) - 1);
});

Deno.test("a front's hypervolume takes bytes over fp16, though the baseline is kept in fp32", async () => {
  const { trials } = await run(world({ max_trials: 1 }));
  const measured = (accuracy: number, size_bytes: number): Measurement[] => [
    { ...figure("accuracy", accuracy, null, null), fidelity: "full" },
    figure("size_bytes", size_bytes, null, null),
  ];
  const trial = (number: number, measurements: Measurement[]): Trial => ({
    ...trials[0]!,
    ...{ number, trial_id: `t${number}`, state: "completed", fidelity: "full", measurements },
  });
  const two: Spec = {
    ...spec,
    objectives: [
      { metric: "accuracy", direction: "maximize", unit: "1" },
      { metric: "size_bytes", direction: "minimize", unit: "bytes" },
    ],
  };
  const facts = smallFacts();
  const fp16 = facts.model.fp16_bytes;
  const baseline = measured(0.8, 2 * fp16);
  const study = comparableStudy([trial(0, baseline), trial(1, measured(0.6, fp16 / 2))], two);
  // The baseline, twice fp16, lies beyond the corner at 1.1: 0.6 · (1.1 - 0.5) is left.
  near(frontHypervolume(study, facts)!, 0.36);
});
