/** What is read of the rows: Markdown tables. */
import { meanKl } from "../recovery/recovery_rows.ts";
import { frontOf } from "../stages/stage_rows.ts";
import { BUDGETS } from "./cells.ts";
import {
  apart,
  changedWords,
  isQuantized,
  type KeptRow,
  type QuantizedRow,
  type Row,
} from "./quantization_rows.ts";

const short = (value: number) => String(Number(value.toPrecision(3)));
const seconds = (value: number) => value < 10 ? short(value) : value.toFixed(0);
const points = (share: number) => (100 * share).toFixed(1);
const kl = (row: QuantizedRow) => meanKl(row.kl).mean;

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [text(head), text(head.map(() => "---")), ...lines.map(text)].join("\n");
}

/** Each method at each width, the fewest bits first, what no other one beats in bits and KL bold. */
export function methodsTable(rows: readonly Row[]): string {
  const own = rows.filter(isQuantized).filter(({ set }) => set === "methods");
  const original = own.find(({ name }) => name === "original");
  const front = frontOf(own.filter((row) => row !== original));
  const lines = own.toSorted((a, b) => a.weight_bits - b.weight_bits || kl(a) - kl(b))
    .map((row) => {
      const { mean, low, high } = meanKl(row.kl);
      const words = changedWords(row, original);
      const change = words === null || row === original
        ? ""
        : ` (${points(words.mean)} ± ${points(words.half)})`;
      return [
        front.has(row.name) ? `**${row.name}**` : row.name,
        row.weight_bits.toFixed(2),
        row === original ? "" : `${short(mean)} (${short(low)} to ${short(high)})`,
        short(row.perplexity),
        words === null ? "" : `${points(words.share)}${change}`,
        (row.size_bytes / 1e6).toFixed(1),
        ...row === original ? ["", "", "", ""] : [
          seconds(row.encode_seconds),
          seconds(row.encode_processor_seconds),
          row.load.toFixed(0),
          (row.peak_memory_bytes / 1e9).toFixed(1),
        ],
      ];
    });
  const head = ["setting", "bits", "KL (95 %)", "perplexity", "last words, % (change)", "MB"];
  return table([...head, "encode, s", "processor, s", "load", "memory, GB"], lines);
}

/** Uniform ones of at most so many bits, and AutoScheme: what a mix is compared with. */
const RIVALS: Readonly<Record<number, readonly string[]>> = {
  3.25: ["gptq 3", "autoround 3", "autoscheme 3.25"],
  3.75: ["gptq 3 g32", "autoround 3 g32", "autoscheme 3.75"],
  4.25: ["gptq 4", "autoround 4", "autoscheme 4.25"],
};

/** Each budget's mixes less each rival: mean difference over windows. */
export function mixesTable(rows: readonly Row[]): string {
  const found = new Map(rows.filter(isQuantized).map((row) => [row.name, row]));
  const lines = BUDGETS.flatMap((bits) => {
    const ends = ["", " anew", " free", " free anew"];
    const own = [`mixed ${bits}`, `mixed ${bits} auto_scheme`];
    const mixes = [...own, ...ends.map((end) => `mix ${bits}${end}`)];
    return mixes.flatMap((name) => {
      const mix = found.get(name);
      if (mix === undefined) return [];
      const against = RIVALS[bits]!.map((rival) => {
        const other = found.get(rival);
        if (other === undefined) return "";
        const { mean, half } = apart(mix, other);
        const sign = mean < 0 ? "−" : "+";
        return `${sign}${short(Math.abs(mean))} ± ${short(half)} (${short(kl(other))}, ${
          other.weight_bits.toFixed(2)
        })`;
      });
      return [[name, mix.weight_bits.toFixed(2), short(kl(mix)), ...against]];
    });
  });
  return table(["mix", "bits", "KL", "less GPTQ", "less AutoRound", "less AutoScheme"], lines);
}

/** Methods beside the library's own call. */
export function bareTable(rows: readonly Row[]): string {
  const found = new Map(rows.filter(isQuantized).map((row) => [row.name, row]));
  const lines = rows.filter(isQuantized).flatMap((bare) => {
    const own = found.get(bare.name.split(",")[0]!);
    if (bare.set !== "bare" || own === undefined) return [];
    const { mean, half } = apart(own, bare);
    const ratio = own.encode_processor_seconds / bare.encode_processor_seconds;
    return [[
      own.name,
      ...[own, bare].map((row) => short(kl(row))),
      `${short(mean)} ± ${short(half)}`,
      ...[own, bare].map((row) => seconds(row.encode_processor_seconds)),
      ratio.toFixed(2),
      ...[own, bare].map((row) => `${seconds(row.encode_seconds)} (${row.load.toFixed(0)})`),
      ...[own, bare].map((row) => (row.peak_memory_bytes / 1e9).toFixed(1)),
    ]];
  });
  return table([
    ...["setting", "KL", "alone", "difference", "processor, s", "alone", "ratio"],
    ...["encode, s (load)", "alone", "memory, GB", "alone"],
  ], lines);
}

/** What kept layers take, and a mix from them beside the same calibrated anew. */
export function keptTable(rows: readonly Row[]): string {
  const kept = rows.find((row): row is KeptRow => row.set === "kept");
  const found = new Map(rows.filter(isQuantized).map((row) => [row.name, row]));
  const lines = kept === undefined ? [] : [
    [
      `${kept.layers} layers in ${kept.formats} formats`,
      `${seconds(kept.make_seconds)} s by ${kept.threads} ${
        kept.threads === 1 ? "thread" : "threads"
      }, ` +
      `${seconds(kept.make_processor_seconds)} s of processor`,
    ],
    ["their bytes", `${(kept.kept_bytes / 1e6).toFixed(0)} MB`],
    ["their scores", `${seconds(kept.score_processor_seconds)} s of processor`],
    [
      "one budget solved; each layer free",
      `${short(kept.solve_seconds)} s; ${short(kept.free_solve_seconds)} s`,
    ],
    [
      "the curve of 12 budgets; free",
      `${short(kept.curve_seconds)} s; ${short(kept.free_curve_seconds)} s`,
    ],
    ["load before", kept.load.toFixed(1)],
  ];
  for (const [name, mix] of found) {
    const anew = found.get(`${name} anew`);
    if (anew === undefined) continue;
    const took = anew.encode_processor_seconds / mix.encode_processor_seconds;
    lines.push([
      `${name}: written from them; calibrated anew`,
      `${seconds(mix.encode_processor_seconds)} s; ${
        seconds(anew.encode_processor_seconds)
      } s of processor (${took.toFixed(1)} times); KL ${short(kl(mix))}; ${short(kl(anew))}`,
    ]);
  }
  return table(["kept layers", "figure"], lines);
}

/** All of them, each with its title. */
export function tables(rows: readonly Row[]): string {
  return [
    methodsTable(rows),
    `Mixes, less uniform ones (KL and bits of those):\n\n${mixesTable(rows)}`,
    keptTable(rows),
    `Beside the library alone:\n\n${bareTable(rows)}`,
  ].join("\n\n");
}
