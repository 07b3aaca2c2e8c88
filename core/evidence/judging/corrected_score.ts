import { LEAST_RHO, predictionPowered } from "../prediction_powered.ts";
import { mean, Z95 } from "../statistics.ts";

/** An answer that a person labelled and the judge scored, both from 0 to 1. */
export interface Labelled {
  readonly label: number;
  readonly judged: number;
}

/** A judge's mean score over all answers, corrected by those that people labelled. */
export interface CorrectedScore {
  readonly score: number;
  /** 95 %. */
  readonly interval: readonly [number, number];
  /** Of the labels alone, with its interval: what the judge's other scores are to narrow. */
  readonly labels: { readonly score: number; readonly interval: readonly [number, number] };
  /** The judge's own mean over all answers. */
  readonly judged: number;
  /** Labelled, and all. */
  readonly n: number;
  readonly answers: number;
  /** How much the judge's scores count; 0: not at all, and `because` says why. */
  readonly lambda: number;
  readonly because: string | null;
}

/**
 * Labels that are made up, half of them as wrong one way and half the other (Agresti and Coull 1998, for
 * their share): a judge who was never seen to be wrong about a hundred answers is not known to be right
 * about a thousand.
 */
const ADDED = 4;

/** The variance that the made-up labels leave in a mean of n, of scores from 0 to 1. */
function addedVariance(n: number, share: number): number {
  return share * ADDED * 0.25 / (n + ADDED) ** 2;
}

function within(score: number, error: number): [number, number] {
  return [Math.max(0, score - Z95 * error), Math.min(1, score + Z95 * error)];
}

/** Why the judge's other scores are left out; null: they are not. */
function whyNot(rho: number, lambda: number, n: number, others: number): string | null {
  if (lambda > 0) return null;
  if (others < 3 * n) return `only ${others} answers have no label beside the ${n} that have one`;
  return rho < LEAST_RHO
    ? `the judge's scores tell too little of the labels (correlation ${rho.toFixed(2)})`
    : "too few of the labels differ";
}

/** Mean and interval of what is labelled alone. */
function ofLabels(labels: readonly number[], left: number) {
  const [n, score] = [labels.length, mean(labels)];
  const variance = labels.reduce((sum, label) => sum + (label - score) ** 2, 0) / (n - 1);
  const error = Math.sqrt(left * variance / n + addedVariance(n, left));
  return { score, interval: within(score, error) };
}

/**
 * The mean label of all answers, from the few that are labelled and the judge's score of each
 * (`predictionPowered`), with room for faults of the judge that no label has shown. The labelled ones must
 * be drawn at random from all. Null: fewer than ten are.
 */
export function correctedScore(
  labelled: readonly Labelled[],
  others: readonly number[],
): CorrectedScore | null {
  const scored = labelled.map(({ label, judged }) => ({ difference: label, predictor: judged }));
  const found = predictionPowered({ scored, others });
  if (found === null) return null;
  const { n, population: answers, drop, standard_error, lambda, rho } = found;
  const left = 1 - n / answers;
  const error = Math.sqrt(standard_error ** 2 + addedVariance(n, left));
  const score = Math.max(0, Math.min(1, drop));
  return {
    score,
    interval: within(score, error),
    labels: ofLabels(labelled.map(({ label }) => label), left),
    judged: mean([...labelled.map(({ judged }) => judged), ...others]),
    n,
    answers,
    lambda,
    because: whyNot(rho, lambda, n, others.length),
  };
}
