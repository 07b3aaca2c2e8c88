import {
  type Comparable,
  type Contender,
  qualityMetric,
  qualityRow,
  scaleOf,
  separationOf,
  type Spec,
} from "../../../core/mod.ts";
import type { QualityDifference } from "./trial_rows.ts";

/**
 * Each trial's quality against the baseline's, by trial id: paired by sample where both were measured in
 * full, else the difference of the means of the rung that the trial reached, whose samples are the same.
 */
export function qualityDifferences(
  trials: readonly Comparable[],
  contenders: readonly Contender[],
  spec: Spec,
): Map<string, QualityDifference> {
  const baseline = trials.find(({ strategy, state }) => strategy === null && state === "completed");
  const measured = contenders.find(({ trial }) => trial.trial_id === baseline?.trial_id);
  const metric = qualityMetric(spec);
  const sign = metric === "accuracy" ? -1 : 1; // a drop of accuracy is below the baseline
  const found = trials.flatMap((trial): [string, QualityDifference][] => {
    const own = contenders.find((one) => one.trial.trial_id === trial.trial_id);
    const paired = own === undefined || measured === undefined || own === measured
      ? null
      : separationOf(measured, own, spec);
    if (paired !== null) {
      const [one, other] = paired.interval.map((end) => sign * end) as [number, number];
      const interval = [Math.min(one, other), Math.max(one, other)] as const;
      return [[trial.trial_id, { metric, value: sign * paired.difference + 0, interval }]];
    }
    if (baseline === undefined || trial.fidelity === null) return [];
    const [row, base] = [trial, baseline].map(({ measurements }) =>
      qualityRow(measurements, metric, trial.fidelity!)?.value
    );
    if (row === undefined || base === undefined || !Number.isFinite(row) || !(base > 0)) return [];
    const value = scaleOf(metric).between(row, base);
    return [[trial.trial_id, { metric, value, interval: null }]];
  });
  return new Map(found);
}
