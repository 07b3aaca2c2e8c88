import assert from "node:assert/strict";
import {
  chanceOf,
  compareQuality,
  compareTasks,
  type Evaluation,
  mcnemar,
  type Measurement,
  pairsToTellApart,
  permutationTest,
  retention,
  type Spec,
  streamRandom,
  withAggregates,
} from "../../core/mod.ts";
import { answers as samplesOf } from "./front_rivals.ts";
import { figure, world } from "./study_world.ts";

const base = world().input().spec;

/** A study of these tasks, each with its chance level and weight. */
function specOf(tasks: Record<string, { chance?: number; weight?: number }>): Spec {
  const plans = Object.entries(tasks).map(([task, { chance = 0, weight = 1 }]) => ({
    task,
    task_version: "1",
    primary: true,
    chance,
    weight,
  }));
  return { ...base, tasks: plans };
}

function near(found: number | null, expected: number): void {
  assert.ok(found !== null && Math.abs(found - expected) < 1e-12, `${found} against ${expected}`);
}

/** Scores of one task with their mean. */
function answers(task: string, scores: readonly number[], metric = "accuracy"): Evaluation {
  const value = scores.reduce((a, b) => a + b, 0) / scores.length;
  const row: Measurement = {
    ...figure(metric, value, null, 0.1),
    direction: metric === "accuracy" ? "maximize" : "minimize",
    fidelity: "full",
    n: scores.length,
    task,
  };
  return { measurements: [row], samples: samplesOf(scores, task), protocol: { [task]: "1" } };
}

function together(...parts: Evaluation[]): Evaluation {
  return {
    measurements: parts.flatMap((part) => part.measurements),
    samples: parts.flatMap((part) => part.samples),
    protocol: Object.assign({}, ...parts.map((part) => part.protocol)),
  };
}

/** `right` ones, then zeros, n in all. */
const firstRight = (right: number, n: number) =>
  Array.from({ length: n }, (_, i) => i < right ? 1 : 0);

Deno.test("retention() is plain and above chance, null where nothing was known", () => {
  const of = (value: number, standard_error: number | null = 0.02, n = 600) => ({
    value,
    standard_error,
    n,
  });
  near(retention(0.4, of(0.5), 0.25).plain, 0.8);
  near(retention(0.4, of(0.5), 0.25).above_chance, 0.6);
  near(retention(0.2, of(0.5), 0.25).above_chance, -0.2);
  assert.equal(retention(0.4, of(0.5), 0.25).undefined_because, null);
  const noise = "the baseline's interval includes chance";
  const undefined_ = (plain: number | null, undefined_because: string) => ({
    plain,
    above_chance: null,
    undefined_because,
  });
  assert.deepEqual(retention(0.2, of(0.25), 0.25), undefined_(0.8, noise));
  assert.deepEqual(retention(0.2, of(0.2), 0.25), undefined_(1, noise));
  assert.deepEqual(retention(0, of(0), 0), undefined_(null, noise));
  // 0.28 ± 0.02 is 0.241 to 0.319; it was −3 for a score of 0.16.
  assert.deepEqual(retention(0.14, of(0.28), 0.25), undefined_(0.5, noise));
  assert.deepEqual(retention(0.2, of(0.5), null), undefined_(0.4, "chance is not known"));
  const alone = "the baseline has no standard error";
  assert.deepEqual(retention(1, of(1, null, 1), 0.5), undefined_(1, alone));
  // All right, of 3 and of 30: Wilson's lower bounds are 0.44 and 0.89.
  assert.equal(retention(1, of(1, 0, 3), 0.5).undefined_because, noise);
  assert.equal(retention(1, of(1, 0, 30), 0.5).above_chance, 1);
});

Deno.test("the chance of a figure is its own, else its task's, and of a mean the mean by its weights", () => {
  const spec = specOf({ choice: { chance: 0.25, weight: 3 }, words: {} });
  const row = (task: string | null, more: Partial<Measurement> = {}) => ({
    ...figure("accuracy", 0.5, null, 0.1),
    task,
    ...more,
  });
  assert.equal(chanceOf(row("choice"), spec), 0.25);
  assert.equal(chanceOf(row("choice", { chance: 0.2 }), spec), 0.2);
  assert.equal(chanceOf(row("elsewhere", { chance: null }), spec), null);
  assert.equal(chanceOf(row(null), spec), 0.1875);
  assert.equal(chanceOf(row("elsewhere"), spec), null);
  assert.equal(chanceOf(row("choice", { metric: "perplexity" }), spec), null);
  const mean = (...rows: Measurement[]) =>
    withAggregates({ measurements: rows, samples: [], protocol: {} }, spec).measurements.at(-1)!;
  assert.equal(mean(row("choice", { chance: 0.5 }), row("words", { chance: 0.1 })).chance, 0.4);
  assert.equal(mean(row("choice"), row("words")).chance, 0.1875);
  const text = (value: number) => row("choice", { metric: "perplexity", value });
  assert.ok(!("chance" in mean(text(3))));
});

Deno.test("compareTasks() takes no unknown chance for 0", () => {
  const { chance: _, ...plan } = specOf({ choice: {} }).tasks[0]!;
  const reference = answers("choice", firstRight(60, 100));
  const trial = answers("choice", firstRight(50, 100));
  const spec = { ...base, tasks: [plan] };
  const [found] = compareTasks(spec, reference, trial.samples, streamRandom(1, "c"));
  assert.equal(found!.retention!.undefined_because, "chance is not known");
  assert.equal(withAggregates(reference, spec).measurements.at(-1)!.chance, null);
});

Deno.test("compareTasks() tests every task and holds the family's level by Holm", () => {
  const spec = specOf({ choice: { chance: 0.25 }, words: {}, text: {} });
  const reference = together(
    answers("choice", firstRight(60, 100)),
    answers("words", firstRight(30, 40)),
    answers("text", [2, 3, 2.5, 2], "perplexity"),
  );
  const trial = together(
    answers("choice", firstRight(50, 100)),
    answers("words", firstRight(29, 40)),
    answers("text", [2.1, 3.1, 2.7, 2.2], "perplexity"),
  );
  const [choice, words, text] = compareTasks(spec, reference, trial.samples, streamRandom(1, "c"));
  // Ten were lost and none gained: 2·0.5¹⁰. One lost: 1. Four signs: 2·0.5⁴.
  near(choice!.p_value, 2 * 0.5 ** 10);
  near(choice!.p_adjusted, 3 * 2 * 0.5 ** 10);
  assert.equal(words!.p_value, 1);
  near(text!.p_value, 0.125);
  near(text!.p_adjusted, 0.25);
  assert.deepEqual([choice!.test, text!.test], ["mcnemar_exact", "permutation"]);
  near(choice!.difference, -0.1);
  assert.ok(choice!.interval![0] < -0.1 && choice!.interval![1] < 0);
  near(choice!.retention!.above_chance, 0.25 / 0.35);
  assert.equal(text!.retention, null);
  assert.equal(text!.metric, "perplexity");
});

// With a pair of each disagreement added the variance is 12/102 − (10/102)² = 0.10804;
// ((1.95996 + 0.84162)/0.1)²·0.10804 = 84.8.
Deno.test("compareTasks() says how many samples would show the difference", () => {
  const spec = specOf({ choice: {} });
  const needed = (before: number[], after: number[]) => {
    const { samples } = answers("choice", after);
    return compareTasks(spec, answers("choice", before), samples, streamRandom(1, "c"))[0]!
      .samples_to_tell_apart;
  };
  assert.equal(needed(firstRight(60, 100), firstRight(50, 100)), 85);
  assert.equal(needed(firstRight(60, 100), firstRight(60, 100)), null);
  // 4 of 4 were lost: p = 0.125, and six that differ alike are the fewest that show anything.
  assert.equal(needed([1, 1, 1, 1], [0, 0, 0, 0]), 6);
  assert.ok(needed([0.9, 0.8, 0.7, 0.6], [0.4, 0.3, 0.2, 0.1])! >= 6);
  assert.equal(needed([1], [0]), 6);
  // 5 of 50 differ: six in sixty would.
  assert.ok(needed(firstRight(25, 50), firstRight(20, 50))! >= 60);
});

Deno.test("no number of samples is enough that has just failed to show a difference", () => {
  const random = streamRandom(3, "patterns");
  for (let round = 0; round < 300; round++) {
    const n = 2 + Math.floor(random() * 30);
    const score = () => round % 2 === 0 ? Math.round(random()) : Math.round(random() * 4) / 4;
    const pairs = Array.from({ length: n }, (_, i) => ({
      sample_hash: String(i),
      reference: score(),
      score: score(),
    }));
    const p_value = round % 2 === 0 ? mcnemar(pairs).p_value : permutationTest(pairs, random);
    const needed = pairsToTellApart(pairs, p_value);
    if (needed === null) continue;
    const differing = pairs.filter((pair) => pair.score !== pair.reference).length;
    assert.ok(needed >= 6 * n / differing, `${needed} of ${n} with ${differing} that differ`);
    if (p_value > 0.05) assert.ok(needed > n, `${needed} of ${n}, p = ${p_value}`);
  }
});

Deno.test("compareTasks() leaves out what one side did not measure", () => {
  const spec = specOf({ choice: {}, words: {} });
  const both = together(answers("choice", [1, 0]), answers("words", [1, 0]));
  const found = compareTasks(spec, both, answers("words", [1, 1]).samples, streamRandom(1, "c"));
  assert.deepEqual(found.map(({ task, n }) => [task, n]), [["words", 2]]);
});

Deno.test("a task counts with its weight, in the mean, its error and the drop", () => {
  const parts = [answers("choice", firstRight(6, 10)), answers("words", firstRight(2, 10))];
  const lost = [answers("choice", firstRight(5, 10)), answers("words", firstRight(2, 10))];
  const find = (spec: Spec) => {
    const { measurements } = withAggregates(together(...parts), spec);
    const drop = compareQuality(spec, "full", together(...parts), together(...lost))!;
    return { all: measurements.at(-1)!, drop };
  };
  const even = find(specOf({ choice: {}, words: {} }));
  near(even.all.value, 0.4);
  near(even.all.standard_error, Math.sqrt(0.02) / 2);
  assert.equal(even.all.method, "unweighted mean of 2 tasks");
  near(even.drop.drop, 0.05);
  const uneven = find(specOf({ choice: { weight: 3 }, words: {} }));
  near(uneven.all.value, 0.5);
  near(uneven.all.standard_error, Math.sqrt(0.09 + 0.01) / 4);
  assert.equal(uneven.all.method, "weighted mean of 2 tasks: choice 3, words 1");
  near(uneven.drop.drop, 0.075);
});
