import { metricWords } from "../metrics/metric_words.ts";
import { isOfAnswers } from "../metrics/metric_table.ts";
import { isDecisive, PROXY } from "../schemas/fidelity.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Spec } from "../schemas/spec.ts";
import type { Trial } from "../schemas/trial.ts";
import { rungNames } from "../schemas/rungs.ts";
import { qualityMetric, qualityRow } from "./quality.ts";
import { mean, Z95 } from "./statistics.ts";

/** Trials below which no order is told: three orders of three are all that chance needs. */
export const LEAST_TRIALS = 4;

/** A rank correlation with its 95 % interval, 1 being the same order. */
export interface RankAgreement {
  readonly n: number;
  /** Null: fewer than four pairs, or one side is all alike. */
  readonly spearman: number | null;
  readonly interval: readonly [number, number] | null;
  /** tau-b, which counts pairs. */
  readonly kendall: number | null;
}

/** Ranks from 1; equals share the mean of theirs. */
function ranksOf(values: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a - b);
  return values.map((value) => {
    const first = sorted.indexOf(value);
    return (first + sorted.lastIndexOf(value)) / 2 + 1;
  });
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const [meanA, meanB] = [mean(a), mean(b)];
  let [both, ofA, ofB] = [0, 0, 0];
  for (const [i, x] of a.entries()) {
    both += (x - meanA) * (b[i]! - meanB);
    ofA += (x - meanA) ** 2;
    ofB += (b[i]! - meanB) ** 2;
  }
  return both / Math.sqrt(ofA * ofB);
}

function tauB(a: readonly number[], b: readonly number[]): number {
  let [agreed, toldA, toldB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < i; j++) {
      const [signA, signB] = [Math.sign(a[i]! - a[j]!), Math.sign(b[i]! - b[j]!)];
      agreed += signA * signB;
      toldA += Math.abs(signA);
      toldB += Math.abs(signB);
    }
  }
  return agreed / Math.sqrt(toldA * toldB);
}

/**
 * How alike two figures order the same things. The interval is Fisher's z with the standard error of
 * Bonett and Wright (2000), √((1 + ρ²/2)/(n − 3)); a perfect order counts there as half a swap of
 * neighbours, ρ = 1 − 6/(n(n² − 1)), as four trials in one order are no certainty.
 */
export function rankAgreement(a: readonly number[], b: readonly number[]): RankAgreement {
  const n = a.length;
  const alike = (values: readonly number[]) => values.every((value) => value === values[0]);
  if (n < LEAST_TRIALS || alike(a) || alike(b)) {
    return { n, spearman: null, interval: null, kendall: null };
  }
  const spearman = Math.max(-1, Math.min(1, correlation(ranksOf(a), ranksOf(b))));
  const edge = 1 - 6 / (n * (n * n - 1));
  const z = Math.atanh(Math.max(-edge, Math.min(edge, spearman)));
  const half = Z95 * Math.sqrt((1 + spearman ** 2 / 2) / (n - 3));
  const interval: [number, number] = [
    Math.min(spearman, Math.tanh(z - half)),
    Math.max(spearman, Math.tanh(z + half)),
  ];
  return { n, spearman, interval, kendall: tauB(a, b) };
}

/** How a figure of a rung orders a study's trials beside the quality of the last rung. */
export interface RungAgreement extends RankAgreement {
  readonly fidelity: string;
  readonly metric: string;
}

function goodness(trial: Trial, metric: string, fidelity: string): number | null {
  const row = qualityRow(trial.measurements, metric, fidelity);
  if (row === undefined || row.provenance !== "measured" || Number.isNaN(row.value)) return null;
  return row.direction === "maximize" ? row.value : -row.value;
}

/**
 * Every figure of answers over all tasks, on every rung, beside the study's quality on the last one;
 * the cheapest rung first. What no trial has beside the quality is left out.
 */
export function rungAgreements(trials: readonly Trial[], spec: Spec): RungAgreement[] {
  const quality = qualityMetric(spec);
  const judgedOn = rungNames(spec).findLast(isDecisive)!; // every ladder ends with it
  const tried = trials.filter(({ strategy }) => strategy !== null);
  const metrics = [
    ...new Set(
      tried.flatMap(({ measurements }) =>
        measurements.flatMap(({ metric, task }) =>
          task === null && isOfAnswers(metric) ? [metric] : []
        )
      ),
    ),
  ];
  return rungNames(spec).flatMap((fidelity) =>
    metrics.filter((metric) => metric !== quality || fidelity !== judgedOn).flatMap((metric) => {
      const pairs = tried.flatMap((trial) => {
        const own = goodness(trial, metric, fidelity);
        const judged = goodness(trial, quality, judgedOn);
        return own === null || judged === null ? [] : [[own, judged] as const];
      });
      if (pairs.length === 0) return [];
      const agreement = rankAgreement(pairs.map(([own]) => own), pairs.map(([, judged]) => judged));
      return [{ fidelity, metric, ...agreement }];
    })
  );
}

/** A lower end of the interval from which an order is told to be the last rung's. */
const TRUSTED = 0.5;

/**
 * What the ladder may be chosen by, in a sentence: the cheapest rung whose figure surely orders as the
 * last one does, or that none does so yet. Null: too few trials have both.
 */
export function ladderAdvice(
  agreements: readonly RungAgreement[],
  spec: Pick<Spec, "rungs">,
): string | null {
  const below = agreements.filter(({ fidelity, interval }) =>
    !isDecisive(fidelity) && interval !== null
  );
  if (below.length === 0) return null;
  const words = ({ metric, fidelity, spearman, interval, n }: RungAgreement) =>
    `${metricWords(metric)} on the rung ${fidelity} (rank correlation ` +
    `${spearman!.toFixed(2)}, 95 % ${interval![0].toFixed(2)} to ${interval![1].toFixed(2)}, ` +
    `${n} trials)`;
  const trusted = below.filter(({ interval }) => interval![0] >= TRUSTED);
  const cheapest = spec.rungs.map(({ fidelity }) => fidelity)
    .find((name) => trusted.some(({ fidelity }) => fidelity === name));
  if (cheapest === undefined) {
    const best = below.reduce((a, b) => b.interval![0] > a.interval![0] ? b : a);
    return `No rung orders the trials surely as the full evaluation does yet; nearest is ${
      words(best)
    }: keep the ladder`;
  }
  const best = trusted.filter(({ fidelity }) => fidelity === cheapest)
    .reduce((a, b) => b.interval![0] > a.interval![0] ? b : a);
  return `${words(best)} orders the trials as the full evaluation does: rungs between it and the ` +
    "full one may be left out, and a gate may be set there";
}

/** A figure of an earlier study's rung, as that study's trials showed it. */
export interface SeenAgreement extends Pick<RungAgreement, "fidelity" | "metric" | "n"> {
  readonly spearman: number;
  readonly interval: readonly [number, number];
  /** Samples or windows behind the figure. */
  readonly samples: number;
  /** Of its rung in the ladder, from 0. */
  readonly height: number;
  /** Samples of each task on that rung; null: all. */
  readonly counts: Readonly<Record<string, number | null>>;
}

/** The counts of a ladder, and why they are taken. */
export interface ChosenLadder {
  readonly samples: RunRequest["samples"];
  readonly reason: string;
}

/**
 * The ladder that an earlier study's agreements choose: where the KL on text surely orders trials as the full
 * evaluation does, a rung of so many windows comes first; else the cheapest rung that surely does is
 * the first one, and none stands between it and the last. Null: none does.
 */
export function ladderByAgreement(agreements: readonly SeenAgreement[]): ChosenLadder | null {
  const trusted = agreements.filter(({ fidelity, interval }) =>
    !isDecisive(fidelity) && interval[0] >= TRUSTED
  ).toSorted((a, b) => a.height - b.height || b.interval[0] - a.interval[0]);
  const found = trusted.find(({ metric }) => metric === "kl") ?? trusted[0];
  if (found === undefined) return null;
  const { metric, fidelity, n, spearman, interval: [low, high], samples, counts } = found;
  const by_task = Object.fromEntries(
    Object.entries(counts).flatMap(([task, count]) =>
      count === null ? [] : [[task, { [PROXY]: count }]]
    ),
  );
  return {
    samples: metric === "kl" ? { kl: samples } : { by_task },
    reason: `${metricWords(metric)} on the rung ${fidelity} ordered ${n} trials as the full ` +
      `evaluation did: rank correlation ${spearman.toFixed(2)}, 95 % ${low.toFixed(2)} to ${
        high.toFixed(2)
      }`,
  };
}
