/**
 * Deciding with the product's control variate: what the original answered of every sample, and how sure it was,
 * is known before a trial is asked. Its verdicts are the core's own, on samples in an order that each study
 * draws anew.
 */
import {
  judgeSequence,
  pairedSequence,
  sampleKey,
  type SampleOrder,
  sampleOrder,
  type SampleResult,
  seededRandom,
  shuffle,
} from "../../../core/mod.ts";
import { fifthsOf } from "./by_margin.ts";
import { type Decided, type Setting, studiesDecided } from "./simulate.ts";

/** A benchmark: what the original answered, and a trial's scores in the same order. */
export interface Answered {
  readonly samples: readonly SampleResult[];
  readonly scores: readonly number[];
}

/** Share of the answers that are right before, of those that do not change. */
const RIGHT = 0.7;

/** A choice between two whose fifth by unsureness is `fifth`, 0 the least sure. */
function choice(i: number, score: number, fifth: number): SampleResult {
  const choice_log_likelihoods = [0, Math.log((4.5 - fifth) / 5)];
  return {
    ...{ task: "simulated", sample_id: String(i), sample_hash: String(i), prompt_hash: "", score },
    ...{ answer: null, gold: null, log_likelihood: null, choice_log_likelihoods },
  };
}

/** A benchmark that changes most where the original was unsure, as recorded ones do. */
export function unsureBenchmark({ population, flips, drop }: Setting): Answered {
  const differences = fifthsOf(population, drop, flips).flatMap((own, fifth) =>
    [...own].map((difference) => ({ difference, fifth }))
  );
  const samples = differences.map(({ difference, fifth }, i) => {
    const right = difference === 0 ? i % 10 < 10 * RIGHT : difference > 0;
    return choice(i, right ? 1 : 0, fifth);
  });
  return {
    samples,
    scores: samples.map(({ score }, i) => score - differences[i]!.difference),
  };
}

const partOf = ({ task, stratum }: SampleResult) => `${task} ${stratum ?? ""}`;

/** The order with other samples in its places, drawn from all of the same part. */
export function drawnAnew(
  order: SampleOrder,
  all: readonly SampleResult[],
  random: () => number,
): SampleOrder {
  const left = new Map([...Map.groupBy(all, partOf)].map(([part, own]) => {
    const drawn = [...own];
    shuffle(drawn, random);
    return [part, drawn.values()];
  }));
  const placed = order.placed.map((place) => ({
    ...place,
    sample: left.get(partOf(place.sample))!.next().value!,
  }));
  return { ...order, placed };
}

/** Every study in an order of its own; `used`: whether the original's answers are. */
export function simulateAnswered(
  { samples, scores }: Answered,
  used: boolean,
  { limit, studies, seed }: { limit: number; studies: number; seed: number },
): Decided {
  const random = seededRandom(seed);
  const order = sampleOrder([...Map.groupBy(samples, ({ task }) => task)].map(([task, own]) => ({
    plan: {
      ...{ task, task_version: "1", primary: true },
      ...{ weight: own.length, available_samples: own.length },
    },
    samples: own,
    ...(used ? { original: own } : {}),
  })));
  const scoreOf = new Map(samples.map((one, i) => [sampleKey(one), scores[i]!]));
  const lost = samples.reduce((sum, { score }, i) => sum + score - scores[i]!, 0);
  return studiesDecided(studies, lost / samples.length <= limit + 1e-12, () => {
    const { drawn } = pairedSequence(drawnAnew(order, samples, random), scoreOf)!;
    // In growing blocks: what is decided early costs little.
    for (let count = 8;; count *= 2) {
      const { verdict, n } = judgeSequence(
        { ...drawn, batches: drawn.batches.slice(0, count) },
        limit,
      );
      if (verdict !== "undecided") return { met: verdict === "met", n };
    }
  });
}
