import { qualityMetric, qualityRow } from "../evidence/quality.ts";
import { mayBeGuessing } from "../evidence/retention.ts";
import { weightedMean } from "../evidence/strata.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec, TaskPlan } from "../schemas/spec.ts";

/** The quality of a trial over the baseline's, as far as that says anything. */
interface QualityFigures {
  readonly value: number | undefined;
  readonly baseline: number | undefined;
  /** Tasks that were left out, as nothing tells the original from guessing there. */
  readonly untold: readonly string[];
}

/** Why tasks do not count, as a term's note. */
export function guessingNote(untold: readonly string[]): string {
  return `without ${untold.join(", ")}: the original is not told from guessing there`;
}

/**
 * Quality for the reward: the mean over the primary tasks on which the original is told from guessing. On the others
 * what a trial scores is noise about chance, and must decide nothing. `value` and `baseline` are 1 where that
 * leaves none.
 */
export function tellingQuality(
  spec: Spec,
  fidelity: string,
  baseline: readonly Measurement[],
  measurements: readonly Measurement[],
): QualityFigures {
  const metric = qualityMetric(spec);
  const of = (rows: readonly Measurement[], { task, metric: own = metric }: TaskPlan) =>
    qualityRow(rows, own, fidelity, task);
  const counted = spec.tasks.filter(({ primary }) => primary).flatMap((plan) => {
    const row = of(baseline, plan);
    return row === undefined ? [] : [{ plan, row }];
  });
  const untold = counted.filter(({ row }) => mayBeGuessing(row, spec)).map(({ plan }) => plan.task);
  const whole = (rows: readonly Measurement[]) => qualityRow(rows, metric, fidelity)?.value;
  if (metric !== "accuracy" || untold.length === 0) {
    return { value: whole(measurements), baseline: whole(baseline), untold: [] };
  }
  const told = counted.map(({ plan }) => plan).filter(({ task }) => !untold.includes(task));
  const mean = (rows: readonly Measurement[]) => {
    const parts = told.map((plan) => ({ value: of(rows, plan)?.value, weight: plan.weight ?? 1 }));
    const known = parts.flatMap(({ value, weight }) =>
      value === undefined ? [] : [{ value, weight }]
    );
    return known.length < parts.length ? undefined : weightedMean(known);
  };
  if (whole(measurements) === undefined) {
    return { value: undefined, baseline: whole(baseline), untold };
  }
  return told.length === 0
    ? { value: 1, baseline: 1, untold }
    : { value: mean(measurements), baseline: mean(baseline), untold };
}
