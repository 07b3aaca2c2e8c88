import type { SampleResult } from "../../schemas/measurement.ts";
import type { SequentialEvidence } from "../../schemas/trial.ts";

/** Samples without a difference that stand before a cell's own: few of them foretell little. */
const PSEUDO_SAMPLES = 10;

/** Parts of a task, by how unsure the original was. */
const FIFTHS = 5;

/** What is known of a sample before a trial is asked it. */
export interface KnownSample {
  /** Samples of a cell are expected to change alike. */
  readonly cell: string;
  /** Share of one sample in the benchmark's mean. */
  readonly share: number;
  /** Score of the original, from 0 to 1: a trial can lose no more, and gain no more than is left of 1. */
  readonly score: number;
}

/** How near the original was to another answer, larger is nearer; null: it did not say. */
export function unsureness(
  { choice_log_likelihoods, log_likelihood }: SampleResult,
): number | null {
  const [first, second] = choice_log_likelihoods?.toSorted((a, b) => b - a) ?? [];
  if (first !== undefined && second !== undefined) return finite(Math.exp(second - first));
  const p = Math.exp(log_likelihood ?? NaN);
  return finite(4 * p * (1 - p));
}

const finite = (value: number) => Number.isFinite(value) ? value : null;

/**
 * The cell of each sample of a benchmark: its task, whether the original was right, and the fifth of the task that
 * it belongs to by how unsure the original was; those of which nothing is said are a part of their own.
 */
export function cellsOf(samples: readonly SampleResult[]): Map<SampleResult, string> {
  const found = new Map<SampleResult, string>();
  for (const [task, own] of Map.groupBy(samples, (one) => one.task)) {
    const all = own.map(unsureness);
    const sorted = all.filter((one) => one !== null).sort((a, b) => b - a);
    const place = new Map<number, number>();
    for (const [i, one] of sorted.entries()) if (!place.has(one)) place.set(one, i);
    for (const [i, sample] of own.entries()) {
      const unsure = all[i]!;
      const fifth = unsure === null ? "" : Math.floor(FIFTHS * place.get(unsure)! / sorted.length);
      found.set(sample, `${task} ${sample.score >= 0.5 ? "right" : "wrong"} ${fifth}`);
    }
  }
  return found;
}

/** What a verdict used beside its samples, as the end of a sentence; "": nothing. */
export function predictorWords({ predictor }: Pick<SequentialEvidence, "predictor"> = {}): string {
  return predictor === undefined ? "" : `, with the original's ${predictor}`;
}

/** A cell on the way. */
interface Cell {
  /** Of the benchmark's mean, what its samples that were not taken yet hold. */
  left: number;
  samples: number;
  /** Of the scores of all its samples. */
  least: number;
  most: number;
  taken: number;
  sum: number;
  /** Of the next sample of it: the mean of the taken ones' differences, shrunk to 0. */
  expected: number;
}

/**
 * A control variate for the bets on a trial's differences: what the samples taken so far foretell of the next,
 * by their cell. On a sample the bet is on z = d − (f − F), f what is expected of it and F the mean of f over
 * all that is left of the benchmark, by its shares. As every sample that is left is known with its f, z has the mean
 * that d has, whatever f is: one that misleads costs samples and no error. Expectations change between
 * batches only, by what was taken before.
 */
export function controlVariate(population: readonly KnownSample[]) {
  const cells = new Map<string, Cell>();
  for (const { cell, share, score } of population) {
    const one = cells.get(cell) ??
      { left: 0, samples: 0, least: 1, most: 0, taken: 0, sum: 0, expected: 0 };
    one.left += share;
    one.samples++;
    one.least = Math.min(one.least, score);
    one.most = Math.max(one.most, score);
    cells.set(cell, one);
  }
  let mean = 0;
  return {
    /** Before a batch: what is expected of its samples; the least and the largest z that there may be. */
    expect(): readonly [number, number] {
      const open = [...cells.values()].filter(({ taken, samples }) => taken < samples);
      for (const one of open) one.expected = one.sum / (one.taken + PSEUDO_SAMPLES);
      const left = open.reduce((sum, one) => sum + one.left, 0);
      mean = open.reduce((sum, one) => sum + one.left * one.expected, 0) / left;
      return [
        mean + Math.min(...open.map(({ least, expected }) => least - 1 - expected)),
        mean + Math.max(...open.map(({ most, expected }) => most - expected)),
      ];
    },
    /** What is bet on for a sample of the batch, and learned from it for the next. */
    take({ cell, share }: KnownSample, difference: number): number {
      const one = cells.get(cell)!;
      one.left -= share;
      one.taken++;
      one.sum += difference;
      return difference - (one.expected - mean);
    },
  };
}
