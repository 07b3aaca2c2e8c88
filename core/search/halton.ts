import { shuffle, streamRandom } from "../random.ts";

/** Digits of a base beyond which a number in [0, 1) does not change: 53 bits. */
const BITS = 53;

const primes: readonly number[] = firstPrimes(100);

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) {
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  }
  return found;
}

/** The digits of `index` in a base, mirrored behind the point: 6 = 110 in base 2 is 0.011 (van der Corput). */
export function radicalInverse(index: number, base: number): number {
  let [value, share] = [0, 1];
  for (let rest = index; rest > 0; rest = Math.floor(rest / base)) {
    share /= base;
    value += (rest % base) * share;
  }
  return value;
}

function permutation(size: number, random: () => number): number[] {
  const order = Array.from({ length: size }, (_, i) => i);
  shuffle(order, random);
  return order;
}

/**
 * The coordinates of a point of the Halton sequence, each digit of each of them under a permutation of
 * its own (Owen 2017, "A randomized Halton algorithm in R"): every point is uniform in [0, 1), and
 * the first b^k of them lie one in each of the b^k equal parts of the coordinate of base b. Up to
 * 100 coordinates; the same seed, the same sequence.
 */
export function scrambledHalton(seed: number): (index: number, coordinate: number) => number {
  const digits = new Map<number, number[][]>();
  const permutations = (base: number): number[][] => {
    const known = digits.get(base);
    if (known !== undefined) return known;
    const random = streamRandom(seed, `halton ${base}`);
    const count = Math.ceil(BITS / Math.log2(base));
    const made = Array.from({ length: count }, () => permutation(base, random));
    digits.set(base, made);
    return made;
  };
  return (index, coordinate) => {
    const base = primes[coordinate];
    if (base === undefined) {
      throw new RangeError(
        `Cannot draw coordinate ${coordinate} of a quasi-random point: ${primes.length} are known`,
      );
    }
    let [value, share, rest] = [0, 1, index];
    for (const digit of permutations(base)) {
      share /= base;
      value += digit[rest % base]! * share;
      rest = Math.floor(rest / base);
    }
    return Math.min(value, 1 - 2 ** -BITS);
  };
}

/** How many coordinates a quasi-random point may have. */
export const HALTON_COORDINATES = primes.length;
