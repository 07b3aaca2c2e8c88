import { streamRandom } from "../../random.ts";
import type { SampleResult } from "../../schemas/measurement.ts";
import type { TaskPlan } from "../../schemas/spec.ts";
import type { SequentialEvidence } from "../../schemas/trial.ts";
import type { Draw, DrawnSequence } from "./capital.ts";
import { cellsOf, controlVariate, type KnownSample, unsureness } from "./control_variate.ts";
import { type BenchmarkPart, drawOrder, type Placed } from "./draw_order.ts";
import { LEVEL } from "./verdict.ts";
import { BATCH, expectedSamples, FLIPS_UNSEEN } from "./expected_samples.ts";

/** A task of the quality that is compared, with all samples that the baseline has of it. */
export interface OrderedTask {
  readonly plan: TaskPlan;
  readonly samples: readonly SampleResult[];
  /** All that the original answered of it on any rung; absent: its answers predict nothing. */
  readonly original?: readonly SampleResult[];
}

/** What the original's own answers say beforehand of every sample that exists. */
export interface Predictor {
  readonly by: "likelihoods" | "answers";
  readonly population: readonly KnownSample[];
  /** By the sample's key. */
  readonly known: ReadonlyMap<string, KnownSample>;
}

/** The samples in the order in which every trial takes them. */
export interface SampleOrder {
  readonly placed: readonly Placed<SampleResult>[];
  /** Samples that exist of all tasks; null: of some task nobody knows, the draws are from endless ones. */
  readonly existing: number | null;
  /** They are of several parts, all of which each batch holds. */
  readonly mixed: boolean;
  /** Null: not asked for, or not known of all samples that exist. */
  readonly predictor: Predictor | null;
}

/** A part with all that the original answered of it. */
interface OriginalPart extends BenchmarkPart<SampleResult> {
  readonly original: readonly SampleResult[];
}

/** One seed for all studies: pairs, and comparisons between trials, need one order. */
const ORDER_SEED = 16;

/** A number that the content of a sample decides, as good as random. */
function lot({ sample_hash }: SampleResult): number {
  return streamRandom(ORDER_SEED, sample_hash)();
}

function byLot(samples: readonly SampleResult[]): SampleResult[] {
  return samples.map((sample) => ({ sample, at: lot(sample) }))
    .sort((a, b) => a.at - b.at || (a.sample.sample_hash < b.sample.sample_hash ? -1 : 1))
    .map(({ sample }) => sample);
}

/** A task's strata where its samples were drawn by strata, else the task; null: nobody knows its size. */
function strataOf(
  { plan, samples, original = [] }: OrderedTask,
): { own: SampleResult[]; original: readonly SampleResult[]; existing: number | null }[] {
  const nameOf = ({ stratum }: SampleResult) => stratum ?? "";
  if (samples.every(({ stratum_rows }) => typeof stratum_rows === "number")) {
    const all = Map.groupBy(original, nameOf);
    return [...Map.groupBy(samples, nameOf)].map(([name, own]) => ({
      own,
      original: all.get(name) ?? [],
      existing: Math.max(own.length, own[0]!.stratum_rows!),
    }));
  }
  const { available_samples } = plan;
  const existing = available_samples === undefined
    ? null
    : Math.max(available_samples, samples.length);
  return [{ own: [...samples], original, existing }];
}

/**
 * The order in which the samples of a benchmark are taken: in each part by lot, the parts in
 * proportion to what they still hold of the mean over tasks. It depends on the samples alone.
 */
export function sampleOrder(tasks: readonly OrderedTask[]): SampleOrder {
  const known = tasks.filter(({ samples }) => samples.length > 0);
  const all = known.reduce((sum, { plan: { weight = 1 } }) => sum + weight, 0);
  const parts = known.flatMap((task) => {
    const { plan: { weight = 1 } } = task;
    const strata = strataOf(task);
    const rows = strata.reduce((sum, { existing }) => sum + (existing ?? 1), 0);
    return strata.map(({ own, original, existing }): OriginalPart => ({
      samples: byLot(own),
      ...{ original, existing },
      share: weight / all * (existing ?? 1) / rows,
    }));
  });
  const endless = parts.some(({ existing }) => existing === null);
  const predictor = endless ? null : predictorOf(parts);
  const drawn = endless ? parts.map((part) => ({ ...part, existing: null })) : parts;
  return {
    placed: drawOrder(drawn),
    existing: endless ? null : parts.reduce((sum, { existing }) => sum + existing!, 0),
    mixed: parts.length > 1,
    predictor,
  };
}

/** What is known of all samples that exist; null where some are not: nobody knows the mean over those. */
function predictorOf(parts: readonly OriginalPart[]): Predictor | null {
  if (parts.some(({ original, existing }) => original.length !== existing)) return null;
  const all = parts.flatMap(({ original }) => original);
  if (all.some(({ score }) => !(score >= 0 && score <= 1))) return null;
  const cells = cellsOf(all);
  const known = new Map<string, KnownSample>();
  const population = parts.flatMap(({ original, share, existing }) =>
    original.map((sample): KnownSample => {
      const one = { cell: cells.get(sample)!, share: share / existing!, score: sample.score };
      known.set(sampleKey(sample), one);
      return one;
    })
  );
  const told = parts.every(({ samples }) => samples.every((one) => known.has(sampleKey(one))));
  const by = all.some((one) => unsureness(one) !== null) ? "likelihoods" : "answers";
  return told ? { by, population, known } : null;
}

/** Differences of a trial to its baseline, batch by batch. */
export interface PairedSequence {
  readonly drawn: DrawnSequence;
  readonly existing: number | null;
  /** Samples in it, and the share of them whose score changed. */
  readonly n: number;
  readonly flips: number;
  /** What the original's own answers took off the differences; absent: nothing was. */
  readonly predicted?: Pick<SequentialEvidence, "predictor" | "explained">;
}

/**
 * What a trial's scores say in the order of the samples, up to the first that it lacks (of several parts,
 * up to the batch that lacks one); null: a score
 * does not lie from 0 to 1, so that nothing bounds a difference.
 */
export function pairedSequence(
  order: SampleOrder,
  scores: ReadonlyMap<string, number>,
): PairedSequence | null {
  const { predictor } = order;
  const variate = predictor === null ? null : controlVariate(predictor.population);
  const batches: Draw[][] = [];
  const ranges: (readonly [number, number])[] = [];
  for (const { sample, share, batch, stake } of order.placed) {
    const key = sampleKey(sample);
    const score = scores.get(key);
    if (score === undefined) {
      if (order.mixed && batches.length > batch) batches.pop(); // parts of a batch are no batch
      break;
    }
    if (![score, sample.score].every((one) => one >= 0 && one <= 1)) return null;
    const difference = sample.score - score;
    if (variate !== null) ranges[batch] ??= variate.expect();
    const value = variate?.take(predictor!.known.get(key)!, difference) ?? difference;
    (batches[batch] ??= []).push({ difference, times: 1, share, stake, value });
  }
  const taken = batches.flat();
  return {
    drawn: {
      batches: batches.map(together),
      ...(variate === null ? {} : { ranges }),
    },
    existing: order.existing,
    n: taken.length,
    flips: taken.filter(({ difference }) => difference !== 0).length / taken.length,
    ...(predictor === null ? {} : {
      predicted: { predictor: predictor.by, explained: explainedOf(taken) },
    }),
  };
}

/** Share of the differences' variance that is not in the values that are bet on; below 0: they misled. */
function explainedOf(taken: readonly Draw[]): number {
  const variance = (values: readonly number[]) => {
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
    return values.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  };
  const all = variance(taken.map(({ difference }) => difference));
  return all > 0 ? 1 - variance(taken.map(({ value }) => value!)) / all : 0;
}

/** What a sample is found by among those of all tasks. */
export function sampleKey({ task, sample_hash }: SampleResult): string {
  return `${task} ${sample_hash}`;
}

/** Samples of one batch that differ and count alike, as one. */
function together(batch: readonly Draw[]): Draw[] {
  const alike = ({ difference, share, stake, value }: Draw) =>
    `${difference} ${share} ${stake} ${value}`;
  return [...Map.groupBy(batch, alike).values()]
    .map((same) => ({ ...same[0]!, times: same.length }));
}

/** Of the capital's growth: what so many claims ask for together beside what one asks for. */
const forClaims = (claims: number) => Math.log(claims / LEVEL) / Math.log(1 / LEVEL);

/**
 * Samples that would decide, those of now included, if the drop stays; null: no number does.
 * `claims`: that are decided together, of which this one is the last.
 */
export function samplesUntilDecided(
  { existing, n, flips, predicted }: PairedSequence,
  drop: number,
  limit: number,
  claims = 1,
): number | null {
  const left = flips * (1 - Math.max(0, predicted?.explained ?? 0));
  const likely = forClaims(claims) * (left * n + FLIPS_UNSEEN * BATCH) / (n + BATCH);
  const samples = expectedSamples(drop - limit, likely, existing ?? Infinity);
  if (!Number.isFinite(samples)) return null;
  return Math.min(Math.max(n + 1, samples), existing ?? Infinity);
}
