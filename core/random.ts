/**
 * Numbers that look random and are the same for the same seed, on every machine.
 *
 * The generator is sfc32 of Chris Doty-Humphrey's PractRand (public domain): 128 bits of state, a
 * 32-bit counter among them, so no seed has a period under 2^32. Its authors discard the first
 * rounds, which still show the seed.
 */
function sfc32(a: number, b: number, c: number, counter: number): () => number {
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 15; round++) next();
  return next;
}

/** 32-bit FNV-1a over UTF-16 code units (Fowler, Noll, Vo): spreads a label over 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash | 0;
}

/** Uniform numbers in [0, 1) that `seed`, a whole number from 0 to 2^53, decides. */
export function seededRandom(seed: number): () => number {
  return streamRandom(seed, "");
}

/**
 * Uniform numbers in [0, 1) for one purpose: streams of one seed with different labels do not
 * touch each other, so a draw more in one place changes nothing in another.
 */
export function streamRandom(seed: number, label: string): () => number {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(`Cannot seed as the seed must be a whole number from 0: it is ${seed}`);
  }
  return sfc32(seed | 0, Math.floor(seed / 2 ** 32) | 0, fnv1a(label), 1);
}

/** Puts values in a drawn order, each order as likely, in place (Fisher and Yates). */
export function shuffle<T>(values: { length: number; [i: number]: T }, random: () => number): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
}

/** A standard normal number (Box and Muller, one of the pair). */
export function normal(random: () => number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}

/**
 * 64-bit FNV-1a over UTF-16 code units (Fowler, Noll, Vo), 16 hex digits: says that two texts differ,
 * and is no protection against somebody who wants them to look alike.
 */
export function fnv1a64(text: string): string {
  // In two halves of 32 bits: times 2^40 + 435, the prime.
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (let i = 0; i < text.length; i++) {
    low = (low ^ text.charCodeAt(i)) >>> 0;
    const product = low * 435;
    high = (Math.imul(high, 435) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}
