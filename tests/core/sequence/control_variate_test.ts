/** What the original answered beforehand, used for the verdicts: whatever it says, at most 5 % are wrong. */
import assert from "node:assert/strict";
import {
  judgeSequence,
  logCapitals,
  type OrderedTask,
  pairedSequence,
  sampleKey,
  sampleOrder,
  type SampleResult,
  seededRandom,
  sequenceInterval,
  unsureness,
} from "../../../core/mod.ts";
import { drawnAnew, unsureBenchmark } from "../../benchmarks/deciding/by_predictor.ts";
import { MOST_WRONG } from "../../benchmarks/deciding/simulate.ts";
import { rounds, WHOLE_CAMPAIGN } from "../../fixtures/campaign.ts";

/** A benchmark, and what a trial scored of each of its samples. */
interface Benchmark {
  readonly samples: readonly SampleResult[];
  readonly scores: readonly number[];
  /** Of tasks; absent: 1. */
  readonly weights?: Readonly<Record<string, number>>;
  /** Of each stratum are at hand; absent: all. */
  readonly at_hand?: number;
}

function ordered({ samples, weights = {}, at_hand = Infinity }: Benchmark): OrderedTask[] {
  return [...Map.groupBy(samples, ({ task }) => task)].map(([task, original]) => ({
    plan: {
      ...{ task, task_version: "1", primary: true, weight: weights[task] ?? 1 },
      available_samples: original.length,
    },
    samples: [...Map.groupBy(original, ({ stratum }) => stratum).values()]
      .flatMap((own) => own.slice(0, at_hand)),
    original,
  }));
}

/** Shares of studies that are wrong at a limit that is the drop itself, and at one just below it. */
function wrongAtTheLimit(benchmark: Benchmark, studies: number, seed: number) {
  const { samples, scores } = benchmark;
  const order = sampleOrder(ordered(benchmark));
  assert.notEqual(order.predictor, null);
  const scoreOf = new Map(samples.map((one, i) => [sampleKey(one), scores[i]!]));
  const drop = order.predictor!.population
    .reduce((sum, { share, score }, i) => sum + share * (score - scores[i]!), 0);
  const random = seededRandom(seed);
  let [violated, met] = [0, 0];
  for (let study = 0; study < studies; study++) {
    const { drawn } = pairedSequence(drawnAnew(order, samples, random), scoreOf)!;
    if (judgeSequence(drawn, drop + 1e-12).verdict === "violated") violated++;
    if (judgeSequence(drawn, drop - 1e-9).verdict === "met") met++;
    assert.ok(Number.isFinite(logCapitals(drawn, drop, 1)[0]!), "no bet loses more than there is");
  }
  return { violated: violated / studies, met: met / studies };
}

const setting = (flips: number, drop = 0.02, population = 600) => ({ population, flips, drop });

/** The same benchmark with other likelihoods of the original. */
function saying(
  { samples, scores }: Benchmark,
  likelihoods: (i: number) => number[] | null,
): Benchmark {
  return {
    samples: samples.map((one, i) => ({ ...one, choice_log_likelihoods: likelihoods(i) })),
    scores,
  };
}

/** Answers that are right, or that a part is lost of, where `lost` says so. */
function losing(
  population: number,
  lost: (i: number) => number,
  more: (i: number) => Partial<SampleResult> = () => ({}),
): Benchmark {
  const samples = Array.from({ length: population }, (_, i): SampleResult => ({
    ...{ task: "t", sample_id: String(i), sample_hash: String(i), prompt_hash: "", score: 1 },
    ...{ answer: null, gold: null, log_likelihood: null },
    ...more(i),
  }));
  return { samples, scores: samples.map(({ score }, i) => score - lost(i)) };
}

const random = seededRandom(5);
const drawn = Array.from({ length: 1000 }, () => random());
const usual = unsureBenchmark(setting(0.1));

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  "2 % of flips": unsureBenchmark(setting(0.02)),
  "5 % of flips, of a small benchmark": unsureBenchmark(setting(0.05, 0.02, 200)),
  "10 % of flips": usual,
  "20 % of flips": unsureBenchmark(setting(0.2)),
  "a drop of a tenth": unsureBenchmark(setting(0.2, 0.1)),
  "likelihoods that mislead": saying(usual, (i) => [0, Math.log(drawn[i]!)]),
  "likelihoods that are all the same": saying(usual, () => [0, -1]),
  "likelihoods of some alone": saying(
    usual,
    (i) => i % 3 === 0 ? null : usual.samples[i]!.choice_log_likelihoods!,
  ),
  "no likelihoods": saying(usual, () => null),
  "likelihoods that say all": losing(
    2000,
    (i) => i < 400 ? 1 : 0,
    (i) => ({ choice_log_likelihoods: [0, i < 400 ? -0.1 : -5] }),
  ),
  "scores between 0 and 1": losing(
    500,
    (i) => drawn[i]! < 0.2 ? drawn[999 - i]! / (1 + i % 3) : (drawn[999 - i]! - 1) / 20,
    (i) => ({ score: drawn[999 - i]!, choice_log_likelihoods: [0, Math.log(drawn[i]!)] }),
  ),
  "tasks of other sizes and weights": {
    ...losing(
      560,
      (i) => i < 160 && i % 3 === 0 ? 1 : 0,
      (i) => ({ task: i < 160 ? "small" : "large", log_likelihood: Math.log(drawn[i]!) }),
    ),
    weights: { small: 3 },
  },
  "strata of which as many are at hand each": {
    ...losing(
      900,
      (i) => i < 100 && i % 4 === 0 ? 1 : 0,
      (i) => {
        const [stratum, stratum_rows] = i < 100 ? ["a", 100] : i < 300 ? ["b", 200] : ["c", 600];
        return { stratum, stratum_rows, log_likelihood: Math.log(i < 100 ? 0.5 : drawn[i]!) };
      },
    ),
    at_hand: 90,
  },
};

for (const [i, [name, benchmark]] of Object.entries(BENCHMARKS).entries()) {
  Deno.test(`${name}: at most 5 % are wrong at the limit itself, at any look`, () => {
    const { violated, met } = wrongAtTheLimit(benchmark, rounds(300, 5000), 20261126 + i);
    const most = MOST_WRONG + (WHOLE_CAMPAIGN ? 0 : 0.02);
    assert.ok(violated <= most, `${violated} said to be beyond`);
    assert.ok(met <= most, `${met} said to be within`);
  });
}

const scoresOf = ({ samples, scores }: Benchmark) =>
  new Map(samples.map((one, i) => [sampleKey(one), scores[i]!]));

Deno.test("the values that are bet on lie in their range, and over all that exist have the differences' mean", () => {
  for (
    const benchmark of Object.values(BENCHMARKS).filter(({ at_hand }) => at_hand === undefined)
  ) {
    const { drawn: { batches, ranges } } = pairedSequence(
      sampleOrder(ordered(benchmark)),
      scoresOf(benchmark),
    )!;
    for (const [i, batch] of batches.entries()) {
      const [least, largest] = ranges![i]!;
      assert.ok(batch.every(({ value }) => value! >= least - 1e-12 && value! <= largest + 1e-12));
    }
    // The first batch has nothing to go by; in the last one nothing is left to differ from.
    assert.ok(batches[0]!.every(({ value, difference }) => value === difference));
    const last = batches.at(-1)!;
    const over = (of: (one: typeof last[number]) => number) =>
      last.reduce((sum, one) => sum + one.times * one.stake * of(one), 0);
    assert.ok(Math.abs(over(({ value }) => value!) - over(({ difference }) => difference)) < 1e-9);
  }
});

Deno.test("an interval is narrower by what the original's answers explain, and holds the drop", () => {
  const benchmark = unsureBenchmark({ population: 4000, flips: 0.2, drop: 0.05 });
  const tasks = ordered(benchmark);
  const known = sampleOrder(tasks);
  const placed = drawnAnew(known, benchmark.samples, seededRandom(3)).placed.slice(0, 1500);
  const of = (predictor: typeof known.predictor) =>
    pairedSequence({ ...known, placed, predictor }, scoresOf(benchmark))!;
  const [with_it, without] = [of(known.predictor), of(null)];
  const width = ({ drawn }: typeof without) => {
    const [low, high] = sequenceInterval(drawn)!;
    assert.ok(low <= 0.05 && high >= 0.05);
    return high - low;
  };
  const { predictor, explained } = with_it.predicted!;
  assert.equal(predictor, "likelihoods");
  assert.ok(explained! > 0.25 && explained! < 0.6, `${explained}`);
  assert.ok(width(with_it) < 0.92 * width(without), `${width(with_it)} of ${width(without)}`);
  assert.equal(without.predicted, undefined);
});

Deno.test("a rung has the values of the whole order as far as it goes, and none where not all is known", () => {
  const [task] = ordered(usual);
  const whole = sampleOrder([task!]);
  const samples = whole.placed.slice(0, 100).map(({ sample }) => sample);
  const scores = scoresOf(usual);
  const { drawn } = pairedSequence(sampleOrder([{ ...task!, samples }]), scores)!;
  const { drawn: all } = pairedSequence(whole, scores)!;
  assert.deepEqual(drawn, { batches: all.batches.slice(0, 2), ranges: all.ranges!.slice(0, 2) });
  const { available_samples: _, ...endless } = task!.plan;
  for (
    const unknown of [
      { ...task!, plan: { ...task!.plan, available_samples: 601 } },
      { ...task!, plan: endless },
      { ...task!, original: task!.original!.slice(1) },
      { ...task!, original: task!.original!.map((one) => ({ ...one, sample_hash: "other" })) },
      { plan: task!.plan, samples: task!.samples },
    ]
  ) {
    const order = sampleOrder([unknown]);
    assert.equal(order.predictor, null);
    assert.equal(pairedSequence(order, scores)!.drawn.ranges, undefined);
  }
});

Deno.test("how unsure the original was is the nearness of the next choice, or of an even chance", () => {
  const of = (more: Partial<SampleResult>) => unsureness({ ...usual.samples[0]!, ...more });
  assert.equal(of({ choice_log_likelihoods: [-3, -1, -1] }), 1);
  assert.equal(of({ choice_log_likelihoods: [-1, -3] }), Math.exp(-2));
  const written = { choice_log_likelihoods: null };
  assert.equal(of({ ...written, log_likelihood: Math.log(0.5) }), 1);
  assert.ok(of({ ...written, log_likelihood: Math.log(0.9) })! < 0.4);
  assert.equal(of({ ...written, log_likelihood: null }), null);
});
