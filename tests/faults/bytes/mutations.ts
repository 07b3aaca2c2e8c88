/** What may befall the bytes of a file, each at every place. */
import { streamRandom } from "../../../core/mod.ts";

/** A file's bytes with one thing wrong. */
export interface Mutation {
  readonly how: "cut" | "flip" | "insert" | "zeros" | "double" | "swap";
  /** Such as `bit 7 of byte 12 flipped`. */
  readonly call: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes of the whole file that are not as they were: from here, and before here. */
  readonly from: number;
  readonly to: number;
}

/** What is tried at a place. */
type Maker = (whole: Uint8Array, at: number) => Mutation;

const NEWLINE = 0x0a;
const PAGE = 4096;

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Begin and end of each line, its newline with it. */
export function linesIn(whole: Uint8Array): [from: number, to: number][] {
  const lines: [number, number][] = [];
  for (let from = 0; from < whole.length;) {
    const newline = whole.indexOf(NEWLINE, from);
    const to = newline < 0 ? whole.length : newline + 1;
    lines.push([from, to]);
    from = to;
  }
  return lines;
}

const cut: Maker = (whole, at) => ({
  ...{ how: "cut", call: `cut at byte ${at} of ${whole.length}`, from: at, to: whole.length },
  bytes: joined(whole.subarray(0, at)),
});

function flip(bit: (at: number) => number): Maker {
  return (whole, at) => {
    const bytes = joined(whole);
    bytes[at] = bytes[at]! ^ (1 << bit(at));
    return {
      how: "flip",
      call: `bit ${bit(at)} of byte ${at} flipped`,
      bytes,
      from: at,
      to: at + 1,
    };
  };
}

const insert: Maker = (whole, at) => ({
  ...{
    how: "insert",
    call: `a NUL before byte ${at}`,
    from: at,
    to: Math.min(whole.length, at + 1),
  },
  bytes: joined(whole.subarray(0, at), new Uint8Array(1), whole.subarray(at)),
});

/** Zeros from a place to the end of its page: a page of which the disk has only a part. */
const zeros: Maker = (whole, at) => {
  const to = Math.min(whole.length, (Math.floor(at / PAGE) + 1) * PAGE);
  const bytes = joined(whole);
  bytes.fill(0, at, to);
  return { how: "zeros", call: `zeros from byte ${at} to ${to}`, bytes, from: at, to };
};

const double: Maker = (whole) => {
  const [from, to] = linesIn(whole).at(-1)!;
  const bytes = joined(whole, whole.subarray(from, to));
  return { how: "double", call: "the last record doubled", bytes, from: to, to };
};

const swap: Maker = (whole, at) => {
  const lines = linesIn(whole);
  const [[from, middle], [, to]] = [lines[at]!, lines[at + 1]!];
  const bytes = joined(
    ...[whole.subarray(0, from), whole.subarray(middle, to), whole.subarray(from, middle)],
    whole.subarray(to),
  );
  return { how: "swap", call: `records ${at} and ${at + 1} swapped`, bytes, from, to };
};

/** How many mutations a file has, and the n-th. */
export interface Mutations {
  readonly count: number;
  nth(n: number): Mutation;
}

/** `lines`: the file is of records, a line each. Which bits are flipped the seed says. */
export function mutationsOf(whole: Uint8Array, seed: number, lines: boolean): Mutations {
  const random = streamRandom(seed, "bits");
  const [low, high] = [Math.floor(4 * random()), Math.floor(4 * random())];
  const { length } = whole;
  const pages = Math.ceil(length / PAGE);
  const within = Math.floor(PAGE * random());
  const places: [count: number, make: (n: number) => Mutation][] = [
    [length, (n) => cut(whole, n)],
    [length, (n) => flip((at) => (at + low) % 4)(whole, n)],
    [length, (n) => flip((at) => 4 + (at + high) % 4)(whole, n)],
    [length + 1, (n) => insert(whole, n)],
    [pages, (n) => zeros(whole, n * PAGE)],
    [
      pages,
      (n) => zeros(whole, Math.min(length - 1, n * PAGE + within % Math.max(1, length - n * PAGE))),
    ],
    ...(lines
      ? [
        [1, () => double(whole, 0)],
        [Math.max(0, linesIn(whole).length - 1), (n: number) => swap(whole, n)],
      ] as typeof places
      : []),
  ];
  return {
    count: places.reduce((sum, [count]) => sum + count, 0),
    nth(n) {
      for (const [count, make] of places) {
        if (n < count) return make(n);
        n -= count;
      }
      throw new RangeError("there are no more mutations");
    },
  };
}
