/** Simulated studies whose true front is known, for the calibration of P(front). */
import { frontEstimate, normal, paretoFront, streamRandom } from "../../core/mod.ts";
import { contender, rival, spec } from "./front_rivals.ts";

/** A kind of study: what each of its trials loses of the original's accuracy, by its size from 0 to 1. */
export interface Layout {
  readonly name: string;
  readonly trials: number;
  readonly loss: (size: number, random: () => number) => number;
}

const gauss = (sd: number) => (random: () => number) => sd * normal(random);

export const LAYOUTS: readonly Layout[] = [
  { name: "twenty near ties", trials: 20, loss: (_, r) => 0.02 + gauss(0.004)(r) },
  { name: "twenty ties", trials: 20, loss: (_, r) => 0.02 + gauss(0.0003)(r) },
  { name: "four near ties", trials: 4, loss: (_, r) => 0.02 + gauss(0.006)(r) },
  {
    name: "quality follows size",
    trials: 20,
    loss: (s, r) => 0.12 * (1 - s) ** 2 + gauss(0.006)(r),
  },
  {
    name: "a knee",
    trials: 20,
    loss: (s, r) => (s < 0.25 ? 0.35 * (0.25 - s) * 4 : 0) + 0.01 + gauss(0.005)(r),
  },
  { name: "spread out", trials: 20, loss: (_, r) => 0.2 * r() },
  { name: "sixty trials", trials: 60, loss: (s, r) => 0.1 * (1 - s) ** 3 + 0.03 * r() },
];

/** Said and true of each trial of simulated studies: the probability, and whether it is on the front. */
export function* judgements(
  layout: Layout,
  studies: number,
  { samples = 400, resamples = 300, seed = 1 } = {},
): Generator<{ said: number; on: boolean; measured: boolean }> {
  for (let study = 0; study < studies; study++) {
    const random = streamRandom(seed * 100_000 + study, layout.name);
    const base = Array.from({ length: samples }, () => random() < 0.6);
    const trials = Array.from({ length: layout.trials }, (_, k) => {
      const size = (k + random()) / layout.trials;
      const loss = layout.loss(size, random);
      const flips = 0.03 + 0.05 * random(); // both ways, beside what it loses
      const [down, up] = [
        (flips / 2 + Math.max(0, loss)) / 0.6,
        (flips / 2 - Math.min(0, loss)) / 0.4,
      ];
      const scores = base.map((right) => (random() < (right ? down : up)) !== right ? 1 : 0);
      return { size: 20 + 100 * size, truth: 0.6 - 0.6 * down + 0.4 * up, scores };
    });
    const directions = ["maximize", "minimize"] as const;
    const onFront = new Set(paretoFront(trials.map((t) => [t.truth, t.size]), directions));
    const accuracy = (scores: number[]) => scores.reduce((sum, one) => sum + one, 0) / samples;
    const seen = new Set(
      paretoFront(trials.map((t) => [accuracy(t.scores), t.size]), directions),
    );
    const contenders = trials.map((t, i) => contender(`t${i}`, rival(t.scores, t.size)));
    const { probability } = frontEstimate(contenders, spec, random, { resamples });
    for (const [i] of trials.entries()) {
      yield { said: probability.get(`t${i}`)!, on: onFront.has(i), measured: seen.has(i) };
    }
  }
}

/** Bands of what is said, by their upper ends. */
export const BANDS = [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.01] as const;

/** By band: how many, the mean of what is said, and the share that is true. */
export function calibration(all: Iterable<{ said: number; on: boolean }>) {
  const bands = BANDS.map((below) => ({ below, n: 0, said: 0, true: 0 }));
  for (const { said, on } of all) {
    const band = bands.find(({ below }) => said < below)!;
    band.n++;
    band.said += said;
    band.true += Number(on);
  }
  return bands.map(({ below, n, ...sums }) => ({
    ...{ below, n, said: sums.said / n, true: sums.true / n },
  }));
}
