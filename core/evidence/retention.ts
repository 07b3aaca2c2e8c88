import { isShare } from "../metrics/metric_table.ts";
import type { Measurement } from "../schemas/measurement.ts";
import type { Spec } from "../schemas/spec.ts";
import { Z95 } from "./statistics.ts";
import { weightedMean } from "./strata.ts";

/** What a compressed model keeps of the baseline's score. */
export interface Retention {
  /** score / baseline; null where the baseline is 0. Gates use this one unless told. */
  readonly plain: number | null;
  /** (score − chance) / (baseline − chance): 0 is guessing, 1 all that was known. */
  readonly above_chance: number | null;
  /** Why `above_chance` is null; null where it is not. */
  readonly undefined_because: string | null;
}

/** The baseline's figure as it was measured. */
export type BaselineFigure = Pick<Measurement, "value" | "standard_error" | "n">;

/**
 * Retention of a score that is better when larger; `chance` is the score of guessing, null where
 * nobody knows it. What may be no better than guessing knew nothing that could be kept. The view
 * `retention` of the store has the same definition in SQL, and a test holds the two together.
 */
export function retention(
  score: number,
  baseline: BaselineFigure,
  chance: number | null,
): Retention {
  const because = undefinedBecause(baseline, chance);
  return {
    plain: baseline.value === 0 ? null : score / baseline.value,
    above_chance: because === null && chance !== null
      ? (score - chance) / (baseline.value - chance)
      : null,
    undefined_because: because,
  };
}

/** Whether the original may know nothing that a trial could keep: its interval includes the score of guessing. */
export function mayBeGuessing(row: Measurement, spec: Pick<Spec, "tasks">): boolean {
  const chance = chanceOf(row, spec);
  if (chance === null || row.standard_error === null) return false; // nobody can say so
  return undefinedBecause(row, chance) !== null;
}

function undefinedBecause(baseline: BaselineFigure, chance: number | null): string | null {
  if (chance === null) return "chance is not known";
  const low = lowerEnd(baseline);
  if (low === null) return "the baseline has no standard error";
  return low <= chance ? "the baseline's interval includes chance" : null;
}

/**
 * Lower end of the baseline's 95 % interval: 1.96 standard errors below. Samples that all score
 * alike have no spread to tell by: Wilson's bound of so many right answers, n / (n + z²).
 */
function lowerEnd({ value, standard_error, n }: BaselineFigure): number | null {
  if (standard_error === null) return null;
  return standard_error === 0 ? value * n / (n + Z95 ** 2) : value - Z95 * standard_error;
}

/**
 * The score of guessing that belongs to a figure: its own, else, as in records of earlier versions,
 * that of the study's task, and of the mean over tasks their mean by the same weights. Null where
 * nobody knows it.
 */
export function chanceOf(
  row: Pick<Measurement, "metric" | "task" | "chance">,
  spec: Pick<Spec, "tasks">,
): number | null {
  if (row.chance !== undefined && row.chance !== null) return row.chance;
  if (!isShare(row.metric)) return null;
  const plans = spec.tasks.filter(({ task, primary }) =>
    row.task === null ? primary : task === row.task
  );
  return meanChance(plans.map(({ chance = null, weight = 1 }) => ({ chance, weight })));
}

/** Mean of scores of guessing by the weights of a mean; null where there are none or one is not known. */
export function meanChance(
  parts: readonly { chance: number | null; weight: number }[],
): number | null {
  const known = parts.flatMap(({ chance, weight }) =>
    chance === null ? [] : [{ value: chance, weight }]
  );
  return parts.length === 0 || known.length < parts.length ? null : weightedMean(known);
}
