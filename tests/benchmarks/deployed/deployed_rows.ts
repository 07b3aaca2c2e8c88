/** What the benchmark keeps of the forms that run, and its two tables. */
import { z } from "zod";
import { meanKl } from "../recovery/recovery_rows.ts";

const numeric = z.number().nullable();

/** A recipe in OpenVINO, beside the original in the same minutes. */
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

export const KeptDeployed = z.strictObject({
  cores: z.number(),
  trials: z.array(Trial),
  llama_cpp: z.strictObject({ load: z.number(), files: z.array(GgufFile) }),
});
export type KeptDeployed = z.infer<typeof KeptDeployed>;

/** Points of accuracy that the best trial may lose. */
export const MOST_DROP = 0.02;

/** The fastest whose whole interval of the drop is within the limit; null: none is. */
export function fastestWithin(trials: readonly Trial[]): Trial | null {
  const within = trials.filter((one) =>
    one.drop_high !== null && one.drop_high < MOST_DROP && one.latency_ratio !== null
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

/** The trials in OpenVINO, the fastest first; bold is the fastest within the limit. */
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

/** The files in llama.cpp, the fastest first, beside the original and beside its own Q4_0. */
export function filesTable(files: readonly GgufFile[]): string {
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
      ...[fixed(median(one.ms), 2), ratio(one, original), ratio(one, q4)],
      one.roofline_ms === null ? "–" : fixed(median(one.ms) / one.roofline_ms, 2),
    ];
  });
  const head = ["file", "MB", "KL (95 %)", "ms/token", "× original (95 %)", "× its Q4_0 (95 %)"];
  return table([...head, "of its roofline ×"], rows);
}
