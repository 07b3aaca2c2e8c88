import type { ConstraintVerdict, Trial } from "../schemas/trial.ts";
import { LEVEL } from "./sequence/verdict.ts";
import { normalCdf } from "./numerics/normal.ts";
import { Z95 } from "./statistics.ts";

/** What a "met" of one trial is worth where the best of many trials is chosen. */
export interface StudyClaim {
  /** At most so probable, over the study: that some claim as sure as this one is wrong (Holm 1979). */
  readonly p: number;
  /** Trials of the study about which samples had to decide the same. */
  readonly trials: number;
}

/** What a study's claims are made of. */
export type Claiming = Pick<Trial, "trial_id" | "constraints">;

/**
 * How sure "met" is over all trials of a study, by trial id: of 20 trials just beyond a limit, each wrongly
 * "met" with 5 %, one is in 38 % of studies, and that one is likely to be recommended. Verdicts that rest
 * on all samples that exist, and limits that are no matter of samples or noise, cost nothing.
 */
export function claimsOverStudy(
  trials: readonly Claiming[],
  constraint: string,
): Map<string, StudyClaim> {
  const claims = trials.flatMap(({ trial_id, constraints }) => {
    const p = wrongness(constraints.find((one) => one.constraint === constraint));
    return p === null ? [] : [{ trial_id, p }];
  }).sort((a, b) => a.p - b.p);
  let largest = 0;
  return new Map(claims.map(({ trial_id, p }, rank) => {
    largest = Math.max(largest, Math.min(1, (claims.length - rank) * p));
    return [trial_id, { p: largest, trials: claims.length }];
  }));
}

/** Whether every "met" of a trial holds over the study: 5 % wrong for all of them together. */
export function holdsOverStudy(trial: Claiming, trials: readonly Claiming[]): boolean {
  return trial.constraints.every(({ constraint }) => {
    const claim = claimsOverStudy(trials, constraint).get(trial.trial_id);
    return claim === undefined || claim.p <= LEVEL;
  });
}

/** How probable at most what stands for "met" is, were the limit broken; null: nothing was left to chance. */
function wrongness(verdict: ConstraintVerdict | undefined): number | null {
  if (verdict === undefined || verdict.value === null) return null;
  const { evidence, interval, value, threshold } = verdict;
  if (evidence !== undefined) {
    if (evidence.samples === evidence.existing) return null;
    return evidence.p_within ?? (verdict.verdict === "met" ? LEVEL : 1);
  }
  const half = interval === null ? 0 : (interval[1] - interval[0]) / 2;
  if (!(half > 0)) return null;
  return normalCdf((value - threshold) / (half / Z95));
}
