/**
 * Deciding with a control variate: something is known of every sample before any answer is scored, such
 * as the likelihood of a generated answer, and foretells its difference. What it says of a drawn sample
 * beyond what it says of those left is taken off that difference: the mean stays what it was, the variance
 * falls. Valid whatever the predictor is; a bad one costs samples only.
 */
import { BATCH, LEVEL, seededRandom, shuffle } from "../../../core/mod.ts";
import { bettor, sureOf } from "./bettor.ts";
import { benchmarkOf, type Decided, type Setting, studiesDecided } from "./simulate.ts";

/** A benchmark: each sample's difference, and the difference that a predictor expects of it. */
export interface Predicted {
  readonly differences: ArrayLike<number>;
  readonly expected: ArrayLike<number>;
}

/** Pseudo-samples by which a predictor is believed before its own record says more. */
const BELIEVED = 25;

/** A benchmark whose expected differences correlate with the true ones by `rho`, as a fitted line's do. */
export function predictedBenchmark(setting: Setting, rho: number, seed: number): Predicted {
  const random = seededRandom(seed);
  const differences = benchmarkOf(setting);
  const deviation = Math.sqrt(setting.flips - setting.drop ** 2);
  const noise = () => Math.sqrt(12) * (random() - 0.5);
  const apart = rho * Math.sqrt(1 - rho ** 2) * deviation;
  const expected = Float64Array.from(differences, (d) => rho ** 2 * d + apart * noise());
  return { differences, expected };
}

/** One study over an order of the samples: the verdict with its samples. */
export function decideByPredictor(
  { differences, expected }: Predicted,
  order: Uint32Array,
  limit: number,
): { met: boolean; n: number } {
  const population = order.length;
  const [above, below] = [bettor(1), bettor(-1)];
  let [low, high, left] = [Infinity, -Infinity, 0];
  for (let i = 0; i < population; i++) {
    const f = expected[i]!;
    left += f;
    low = Math.min(low, f);
    high = Math.max(high, f);
  }
  let [sum, sumOfZ, squares] = [0, 0, 0];
  // Of the pairs so far: how much of the predictor to take off.
  let [both, own] = [BELIEVED * 0.01, BELIEVED * 0.01];
  let omega = 1;
  for (let n = 0; n < population;) {
    const rest = population - n;
    const mean = (population * limit - sum) / rest;
    const sure = sureOf(mean);
    if (sure !== null) return { met: sure, n };
    const [d, f] = [differences[order[n]!]!, expected[order[n]!]!];
    const apart = f - left / rest;
    const z = d - omega * apart;
    const most = 1 + omega * (high - low);
    above.bet(z, mean, most);
    below.bet(z, mean, most);
    n++;
    sum += d;
    left -= f;
    sumOfZ += z;
    squares += z ** 2;
    both += d * apart;
    own += apart ** 2;
    if (n % BATCH !== 0) continue;
    for (const one of [above, below]) one.learn({ count: n, sum: sumOfZ, squares });
    omega = Math.min(1.5, Math.max(0, both / own));
    if (above.log() >= Math.log(1 / LEVEL)) return { met: false, n };
    if (below.log() >= Math.log(1 / LEVEL)) return { met: true, n };
  }
  return { met: sum / population <= limit + 1e-12, n: population };
}

/** The same over many studies, each in an order of its own. */
export function simulateByPredictor(
  benchmark: Predicted,
  limit: number,
  studies: number,
  seed: number,
): Decided {
  const random = seededRandom(seed);
  const { length } = benchmark.differences;
  const order = Uint32Array.from({ length }, (_, i) => i);
  const truth = Array.from(benchmark.differences).reduce((sum, d) => sum + d, 0) / length;
  return studiesDecided(studies, truth <= limit + 1e-12, () => {
    shuffle(order, random);
    return decideByPredictor(benchmark, order, limit);
  });
}
