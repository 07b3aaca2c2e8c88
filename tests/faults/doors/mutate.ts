/** Damages a valid file by a seed: bits, cuts, copies, odd numbers and words, deep nests, long lines. */

/** Uniform in [0, 1). */
type Random = () => number;

const below = (random: Random, n: number): number => Math.floor(random() * n);
const pick = <T>(random: Random, from: readonly T[]): T => from[below(random, from.length)]!;

/** Values that end in the middle of something where they are taken for plain numbers. */
const NUMBERS = [
  ...["-1", "0", "1e999", "-1e999", "9223372036854775808", "18446744073709551616", "-0", "NaN"],
  ...["4294967296", "0.1", "1e308", "007", "1_000", "0x7fffffff", "9".repeat(400), "2147483648"],
  ...["9".repeat(5_000), "-9223372036854775808", "true", "null", '"1"', "[1]", "{}"],
];

/** Words that are more than a word where they are taken for plain ones. */
const WORDS = [
  ...["__proto__", "constructor", "toString", "", "\\u0000", "\u0000", "\ud83d\ude00", "\\ud800"],
  ...["../../../../etc/passwd", "/etc/passwd", "/dev/zero", "/proc/self/mem", "C:\\\\x", "%2e%2e/"],
  ...["\u001b]0;title\u0007", "\u202egnp.exe", "<script>alert(1)</script>", "NaN", "Infinity"],
  ...[
    "{{ ''.__class__.__mro__ }}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "!!python/x",
    "&a *a",
  ],
  ...["$(id)", "`id`", "'; DROP TABLE x; --", "%s%n", "a".repeat(70_000), '\\"'.repeat(20_000)],
  ...["\r", "\\n", "\ufeff", "true", "null", "1e999", "-1", "x/../y", "a\u0301", "\u2028"],
];

const NESTS: readonly (readonly [open: string, close: string])[] = [
  ...[["[", "]"], ['{"a":', "}"], ["(", ")"], ["- ", ""], ["a: {", "}"], ["!!seq [", "]"]] as const,
];

type OnText = (text: string, random: Random) => string;

/** Replaces one match of a pattern. */
function replaceOne(pattern: RegExp, by: (found: string, random: Random) => string): OnText {
  return (text, random) => {
    const found = [...text.matchAll(pattern)];
    if (found.length === 0) return text;
    const { 0: word, index } = pick(random, found);
    return text.slice(0, index) + by(word, random) + text.slice(index + word.length);
  };
}

const linesOf = (text: string) => text.split("\n");

const ON_TEXT: readonly OnText[] = [
  replaceOne(/-?\d+(\.\d+)?([eE][+-]?\d+)?/g, (_, random) => pick(random, NUMBERS)),
  replaceOne(/"(?:[^"\\]|\\.){0,200}"/g, (_, random) => `"${pick(random, WORDS)}"`),
  replaceOne(/[A-Za-z_][\w.-]*/g, (_, random) => pick(random, WORDS)),
  // A value for a value: another type, or another value of the same file.
  replaceOne(
    /"(?:[^"\\]|\\.){0,200}"|-?\d[\d.]*|true|false|null/g,
    (word, random) =>
      pick(random, [...NUMBERS, "[]", "{}", "null", "false", `[${word}]`, `{"a":${word}}`]),
  ),
  replaceOne(
    /[[\]{}:,"'#|>&*!%@`=-]/g,
    (word, random) => pick(random, ["", word + word, " ", "\n"]),
  ),
  (text, random) => {
    const [open, close] = pick(random, NESTS);
    const [at, deep] = [below(random, text.length + 1), pick(random, [70, 1_000, 20_000])];
    return text.slice(0, at) + open.repeat(deep) + close.repeat(deep) + text.slice(at);
  },
  (text, random) => {
    const lines = linesOf(text);
    const at = below(random, lines.length);
    lines.splice(at, 0, ...new Array<string>(pick(random, [1, 2, 300])).fill(lines[at]!));
    return lines.join("\n");
  },
  (text, random) => {
    const lines = linesOf(text);
    const [a, b] = [below(random, lines.length), below(random, lines.length)];
    [lines[a], lines[b]] = [lines[b]!, lines[a]!];
    return lines.join("\n");
  },
  (text, random) => linesOf(text).toSpliced(below(random, linesOf(text).length), 1).join("\n"),
  (text, random) => {
    const at = below(random, text.length + 1);
    return text.slice(0, at) + pick(random, WORDS) + text.slice(at);
  },
  (text, random) => {
    const at = below(random, text.length + 1);
    const unit = pick(random, [
      '"',
      '\\"',
      '\\"a',
      "a",
      " ",
      ",",
      '""',
      "\t",
      "\n",
      "&a ",
      "*a,",
      "<<",
    ]);
    return text.slice(0, at) + unit.repeat(Math.ceil(200_000 / unit.length)) + text.slice(at);
  },
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => `\ufeff${text}`,
];

type OnBytes = (bytes: Uint8Array, random: Random) => Uint8Array;

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Lengths as binary formats hold them, in eight bytes or fewer, the small end first. */
const LENGTHS = [0n, 1n, 0x7fn, 0xffn, 0xffffn, 0x7fffffffn, 0xffffffffn, 1n << 40n, 1n << 62n]
  .concat([(1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n]);

const ON_BYTES: readonly OnBytes[] = [
  (bytes, random) => {
    const flipped = bytes.slice();
    for (let left = pick(random, [1, 1, 2, 8]); left > 0 && bytes.length > 0; left--) {
      flipped[below(random, bytes.length)]! ^= 1 << below(random, 8);
    }
    return flipped;
  },
  (bytes, random) => bytes.slice(0, below(random, bytes.length + 1)),
  (bytes, random) => {
    const at = below(random, bytes.length + 1);
    const more = pick(random, [[0], [0xff], [0xfe, 0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [
      27,
      91,
    ]]);
    return joined(bytes.slice(0, at), new Uint8Array(more), bytes.slice(at));
  },
  (bytes, random) => {
    const [a, b] = [below(random, bytes.length + 1), below(random, bytes.length + 1)].sort((x, y) =>
      x - y
    );
    return joined(bytes.slice(0, b), bytes.slice(a)); // a piece of it twice
  },
  (bytes, random) => {
    const [a, b] = [below(random, bytes.length + 1), below(random, bytes.length + 1)].sort((x, y) =>
      x - y
    );
    return joined(bytes.slice(0, a), bytes.slice(b)); // a piece of it gone
  },
  (bytes, random) => {
    const wide = pick(random, [1, 2, 4, 8]);
    if (bytes.length < wide) return bytes;
    const changed = bytes.slice();
    const value = pick(random, LENGTHS);
    const at = below(random, bytes.length - wide + 1);
    for (let i = 0; i < wide; i++) changed[at + i] = Number((value >> BigInt(8 * i)) & 0xffn);
    return changed;
  },
  (bytes, random) => {
    const zeroed = bytes.slice();
    const at = below(random, bytes.length + 1);
    return zeroed.fill(0, at, at + pick(random, [4, 64, 4096]));
  },
];

const encoded = (text: string) => new TextEncoder().encode(text);

/** The text in another encoding, as editors of other systems save it. */
function otherEncoding(bytes: Uint8Array): Uint8Array {
  const wide = new Uint16Array([
    0xfeff,
    ...new TextDecoder().decode(bytes).split("").map((one) => one.charCodeAt(0)),
  ]);
  return new Uint8Array(wide.buffer);
}

/** One damage of a file that is text, or may be; two where they fall together. */
function once(bytes: Uint8Array, isText: boolean, random: Random): Uint8Array {
  if (!isText || random() < 0.25) return pick(random, ON_BYTES)(bytes, random);
  if (random() < 0.02) return otherEncoding(bytes);
  return encoded(pick(random, ON_TEXT)(new TextDecoder().decode(bytes), random));
}

/** The bytes damaged once, twice or three times. */
export function mutate(bytes: Uint8Array, isText: boolean, random: Random): Uint8Array {
  let changed = bytes;
  for (let left = pick(random, [1, 1, 1, 2, 3]); left > 0; left--) {
    changed = once(changed, isText, random);
  }
  return changed;
}

/** A file of safetensors whose header is damaged as text, its length mended: what lies behind the first check. */
export function mutateHeader(bytes: Uint8Array, random: Random): Uint8Array {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = mutate(bytes.slice(8, 8 + length), true, random);
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(header.length), true);
  return joined(size, header, bytes.slice(8 + length));
}

/** A file whose first bytes are damaged, with what follows in its place. */
export function mutateHead(bytes: Uint8Array, head: number, random: Random): Uint8Array {
  return joined(mutate(bytes.slice(0, head), false, random), bytes.slice(head));
}
