/** What the benchmark keeps of the forms that run, and its two tables. */
import { z } from "zod";
import { meanKl } from "../recovery/recovery_rows.ts";

const numeric = z.number().nullable();

/** A recipe in its study's runtime, beside the original in the same minutes. */
export const Trial = z.strictObject({
  name: z.string(),
  state: z.string(),
  accuracy: numeric,
  accuracy_drop: numeric,
  drop_low: numeric,
  drop_high: numeric,
  kl: numeric,
  size_bytes: numeric,
  latency_ratio: numeric,
  ratio_low: numeric,
  ratio_high: numeric,
  latency_ms: numeric,
  roofline_ms: numeric,
});
export type Trial = z.infer<typeof Trial>;

/** A file in llama.cpp, all of them in turn. */
export const GgufFile = z.strictObject({
  name: z.string(),
  bytes: z.number(),
  /** From the original in float32, by window, nats per token; llama.cpp's own rounding in it. */
  kl: z.array(z.number()),
  /** Milliseconds per generated token, pass by pass. */
  ms: z.array(z.number()),
  /** What a token reads at the measured bandwidth. Null: rounded by llama.cpp, not told. */
  roofline_ms: numeric,
});
export type GgufFile = z.infer<typeof GgufFile>;

/** The original in a runtime and precision, all of them in turn as the study of files began. */
export const Original = z.strictObject({
  runtime: z.string(),
  inference_precision: z.string().nullable(),
  latency_ms: numeric,
  reason: z.string().nullable(),
});
export type Original = z.infer<typeof Original>;

/** A way to generate the original's greedy tokens in llama.cpp, with a compressed model as its draft. */
const DraftWay = z.strictObject({
  /** Milliseconds per token, prompt by prompt and pass by pass. */
  ms: z.array(z.number()),
  /** The share of the guesses that the original takes. */
  taken: z.array(z.number()),
  /** The share of the original's own tokens that come out. */
  equal: z.array(z.number()),
});

const Drafts = z.strictObject({
  draft: z.string(),
  load: z.number(),
  ways: z.record(z.string(), DraftWay),
});
export type Drafts = z.infer<typeof Drafts>;

export const KeptDeployed = z.strictObject({
  cores: z.number(),
  /** By runtime: the trials of its study. */
  trials: z.strictObject({ openvino: z.array(Trial), llama_cpp: z.array(Trial) }),
  originals: z.array(Original),
  llama_cpp: z.strictObject({ load: z.number(), files: z.array(GgufFile), drafts: Drafts }),
});
export type KeptDeployed = z.infer<typeof KeptDeployed>;

/** Points of accuracy that the best trial may lose. */
export const MOST_DROP = 0.02;

/** The fastest that loses less than the limit on the samples of the study; null: none does. */
export function fastestWithin(trials: readonly Trial[]): Trial | null {
  const within = trials.filter((one) =>
    one.accuracy_drop !== null && one.accuracy_drop < MOST_DROP && one.latency_ratio !== null
  );
  return within.toSorted((a, b) => a.latency_ratio! - b.latency_ratio!)[0] ?? null;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Student's t at 97.5 % for the passes that the benchmark takes, and that of the normal beyond. */
const T_975: Readonly<Record<number, number>> = { 1: 12.71, 4: 2.776, 9: 2.262, 14: 2.145 };
const Z_975 = 1.96;

/** Ratio of two files' times, paired pass by pass: mean on the log scale, 95 % interval. */
export function timesRatio(own: readonly number[], other: readonly number[]) {
  if (own.length !== other.length || own.length < 2) {
    throw new Error(`Cannot pair ${own.length} passes with ${other.length}`);
  }
  const logs = own.map((one, index) => Math.log(one / other[index]!));
  const n = logs.length;
  const mean = logs.reduce((sum, one) => sum + one, 0) / n;
  const variance = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1);
  const half = (T_975[n - 1] ?? Z_975) * Math.sqrt(variance / n);
  return { ratio: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) };
}

const fixed = (value: number | null, digits: number) =>
  value === null ? "–" : value.toFixed(digits);
const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [text(head), text(head.map(() => "---")), ...rows.map(text)].join("\n");
}

/** The trials of a study, the fastest first; bold is the fastest within the limit. */
export function trialsTable(trials: readonly Trial[]): string {
  const best = fastestWithin(trials)?.name;
  const order = trials.toSorted((a, b) => (a.latency_ratio ?? 9) - (b.latency_ratio ?? 9));
  const rows = order.map((one) => [
    one.name === best ? `**${one.name}**` : one.name,
    ...[one.size_bytes === null ? "–" : fixed(one.size_bytes / 1e6, 0), fixed(one.kl, 3)],
    ...[fixed(one.accuracy, 3), fixed(one.accuracy_drop, 3)],
    one.latency_ratio === null
      ? "–"
      : `${fixed(one.latency_ratio, 2)} (${fixed(one.ratio_low, 2)} to ${
        fixed(one.ratio_high, 2)
      })`,
    one.latency_ratio === null ? "–" : fixed(1 / one.latency_ratio, 1),
    one.latency_ms === null || one.roofline_ms === null
      ? "–"
      : fixed(one.latency_ms / one.roofline_ms, 2),
  ]);
  const head = ["recipe", "MB", "KL", "right", "drop", "latency × (95 %)", "times faster"];
  return table([...head, "of its roofline ×"], rows);
}

/** The original in every runtime and precision that ran it, the fastest first. */
export function originalsTable(originals: readonly Original[]): string {
  const ran = originals.filter(({ latency_ms }) => latency_ms !== null)
    .toSorted((a, b) => a.latency_ms! - b.latency_ms!);
  const fastest = ran[0]?.latency_ms ?? null;
  return table(
    ["runtime", "precision", "ms/token", "× the fastest"],
    ran.map(({ runtime, inference_precision, latency_ms }) => [
      ...[runtime, inference_precision ?? "its own", fixed(latency_ms, 2)],
      fixed(latency_ms! / fastest!, 2),
    ]),
  );
}

/** What a trial lost of accuracy, with its interval; a dash where none was evaluated. */
function dropText(trial: Trial | undefined): string {
  if (trial === undefined || trial.accuracy_drop === null) return "–";
  const { accuracy_drop, drop_low, drop_high } = trial;
  return `${fixed(accuracy_drop, 3)} (${fixed(drop_low, 3)} to ${fixed(drop_high, 3)})`;
}

/** The files in llama.cpp, the fastest first, beside the original and beside its own Q4_0; `trials`
 * say what those of the study answer right. */
export function filesTable(files: readonly GgufFile[], trials: readonly Trial[]): string {
  const of = (name: string) => {
    const found = files.find((one) => one.name === name);
    if (found === undefined) throw new Error(`Nothing was measured of ${name}`);
    return found;
  };
  const [original, q4] = [of("original"), of("llama.cpp Q4_0")];
  const ratio = (own: GgufFile, other: GgufFile) => {
    if (own === other) return "";
    const { ratio, low, high } = timesRatio(own.ms, other.ms);
    return `${fixed(ratio, 2)} (${fixed(low, 2)} to ${fixed(high, 2)})`;
  };
  const rows = files.toSorted((a, b) => median(a.ms) - median(b.ms)).map((one) => {
    const { mean, low, high } = meanKl(one.kl);
    return [
      ...[one.name, fixed(one.bytes / 1e6, 0)],
      `${fixed(mean, 4)} (${fixed(low, 4)} to ${fixed(high, 4)})`,
      dropText(trials.find(({ name }) => name === one.name)),
      ...[fixed(median(one.ms), 2), ratio(one, original), ratio(one, q4)],
      one.roofline_ms === null ? "–" : fixed(median(one.ms) / one.roofline_ms, 2),
    ];
  });
  const head = ["file", "MB", "KL (95 %)", "drop (95 %)", "ms/token", "× original (95 %)"];
  return table([...head, "× its Q4_0 (95 %)", "of its roofline ×"], rows);
}

const meanOf = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;

/** What guesses of the compressed model gain the original, each beside the original alone. */
export function draftsTable({ ways }: Drafts): string {
  const alone = ways["original"];
  if (alone === undefined) throw new Error("Nothing was measured of the original alone");
  const rows = Object.entries(ways).map(([name, { ms, taken, equal }]) => {
    const { ratio, low, high } = timesRatio(ms, alone.ms);
    return [
      ...[name, fixed(median(ms), 2)],
      name === "original" ? "" : `${fixed(ratio, 2)} (${fixed(low, 2)} to ${fixed(high, 2)})`,
      ...[fixed(meanOf(taken), 2), fixed(meanOf(equal), 2)],
    ];
  });
  const head = ["way", "ms/token", "× original (95 %)", "guesses taken", "its own tokens"];
  return table(head, rows);
}
