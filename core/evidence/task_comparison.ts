import { scaleOf } from "../metrics/scale.ts";
import type { Measurement, SampleResult } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { ownRow } from "./quality.ts";
import { chanceOf, type Retention, retention } from "./retention.ts";
import { pairsToTellApart } from "./samples_needed.ts";
import { holm, mcnemar, permutationTest } from "./significance.ts";
import {
  areRightOrWrong,
  differencesOf,
  type Pair,
  pairBySample,
  pairedInterval,
} from "./statistics.ts";
import { meanBy, sampleWeights } from "./strata.ts";

/** A trial against the baseline on one task, sample by sample. */
export interface TaskComparison {
  readonly task: string;
  readonly metric: string;
  /** Samples that both sides answered. */
  readonly n: number;
  /** Figures of the metric on these samples, strata weighed by their rows. */
  readonly reference: number;
  readonly score: number;
  /**
   * score − reference, of a metric whose scale is relative (`scaleOf`) score / reference − 1, with the
   * paired 95 % interval (`pairedInterval`) that the front's differences and SQL have too; null below
   * two pairs.
   */
  readonly difference: number;
  readonly interval: readonly [number, number] | null;
  /**
   * Right-or-wrong scores that count alike: McNemar's exact test; others: sign flips of the paired
   * differences.
   */
  readonly test: "mcnemar_exact" | "permutation";
  readonly p_value: number;
  /** After Holm over the trial's tasks. */
  readonly p_adjusted: number;
  /** Null for a score that is better when smaller. */
  readonly retention: Retention | null;
  /** Samples, those of now included, that would show this difference; null: it is 0. */
  readonly samples_to_tell_apart: number | null;
}

type Unadjusted = Omit<TaskComparison, "p_adjusted">;

/**
 * Every task that both sides measured, in the spec's order. The baseline's row says which metric a
 * task has. `random` draws for permutation tests too large to be exact.
 */
export function compareTasks(
  spec: Spec,
  baseline: { measurements: readonly Measurement[]; samples: readonly SampleResult[] },
  samples: readonly SampleResult[],
  random: () => number,
): TaskComparison[] {
  const compared = spec.tasks.flatMap((plan) => {
    const { task } = plan;
    const row = ownRow(baseline.measurements, plan);
    const ofTask = (all: readonly SampleResult[]) => all.filter((sample) => sample.task === task);
    const { pairs } = pairBySample(ofTask(baseline.samples), ofTask(samples));
    return row === undefined || pairs.length === 0
      ? []
      : [comparePairs(task, row, pairs, chanceOf(row, spec), random)];
  });
  const adjusted = holm(compared.map((one) => one.p_value));
  return compared.map((one, i) => ({ ...one, p_adjusted: adjusted[i]! }));
}

function comparePairs(
  task: string,
  row: Measurement,
  pairs: readonly Pair[],
  chance: number | null,
  random: () => number,
): Unadjusted {
  const weights = sampleWeights(pairs);
  const reference = meanBy(pairs.map((pair) => pair.reference), weights);
  const score = meanBy(pairs.map((pair) => pair.score), weights);
  // McNemar's test counts every pair alike.
  const binary = areRightOrWrong(pairs) && weights.every((weight) => weight === 1);
  const p_value = binary ? mcnemar(pairs).p_value : permutationTest(pairs, random);
  const scale = scaleOf(row.metric);
  const paired = pairedInterval(pairs);
  return {
    task,
    metric: row.metric,
    n: pairs.length,
    reference: scale.figure(reference),
    score: scale.figure(score),
    difference: scale.difference(meanBy(differencesOf(pairs), weights)),
    interval: paired === null ? null : [
      scale.difference(paired.centre - paired.half_width),
      scale.difference(paired.centre + paired.half_width),
    ],
    test: binary ? "mcnemar_exact" : "permutation",
    p_value,
    retention: row.direction === "maximize" ? retention(score, row, chance) : null,
    samples_to_tell_apart: pairsToTellApart(pairs, p_value),
  };
}
