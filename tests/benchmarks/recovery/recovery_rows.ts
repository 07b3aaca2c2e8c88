/** What the benchmark says of each recipe, as rows that are kept and a table that is read. */
import type { Recipe, Recovery } from "./recipes.ts";

/** What the store and the KL script have of a trial. */
export interface Measured {
  readonly state: string;
  readonly accuracy: number | null;
  readonly accuracy_drop: number | null;
  readonly drop_low: number | null;
  readonly drop_high: number | null;
  readonly perplexity: number | null;
  readonly latency_ratio: number | null;
  readonly size_bytes: number | null;
  /** Of the recovery's steps, and of what a teacher answered before them. */
  readonly training_seconds: number | null;
  /** KL from the original on each window, nats per token. */
  readonly kl: readonly number[] | null;
}

export interface RecoveryRow extends Omit<Measured, "kl"> {
  readonly cut: string;
  readonly recovery: Recovery;
  readonly rounding: string | null;
  readonly kl: number | null;
  /** On each window: what chains are paired with quantizers by. */
  readonly kl_windows: readonly number[] | null;
  /** 95 % interval over windows, Student's t on the log scale. */
  readonly kl_low: number | null;
  readonly kl_high: number | null;
  /** Share of the log-likelihood lost by the cut that the recovery has won back; null: no recovery. */
  readonly won_back: number | null;
  /** The same beside the uncut model trained alike, which learns the text's manner too. */
  readonly won_back_alike: number | null;
}

/** Quantiles of Student's t at 97.5 % by degrees of freedom, and that of the normal beyond. */
const T_975: Readonly<Record<number, number>> = {
  7: 2.365,
  11: 2.201,
  15: 2.131,
  19: 2.093,
  23: 2.069,
};
const Z_975 = 1.96;

/** Mean and 95 % interval of windows' differences, Student's t. */
export function meanDifference(
  first: readonly number[],
  second: readonly number[],
): { mean: number; half: number } {
  const n = first.length;
  if (n < 2 || n !== second.length) {
    throw new Error(`Cannot pair ${n} windows with ${second.length}: measure both on the same`);
  }
  const apart = first.map((one, index) => one - second[index]!);
  const mean = apart.reduce((sum, one) => sum + one, 0) / n;
  const variance = apart.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1);
  return { mean, half: (T_975[n - 1] ?? Z_975) * Math.sqrt(variance / n) };
}

/** Mean and 95 % interval of windows' KL, on the log scale: tails are long to the right. */
export function meanKl(windows: readonly number[]): { mean: number; low: number; high: number } {
  const n = windows.length;
  const mean = windows.reduce((sum, one) => sum + one, 0) / n;
  if (n < 2 || mean === 0) return { mean, low: mean, high: mean };
  const variance = windows.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1);
  const half = (T_975[n - 1] ?? Z_975) * Math.sqrt(variance / n) / mean;
  return { mean, low: mean * Math.exp(-half), high: mean * Math.exp(half) };
}

/** Of the nats per token that a cut lost, the share that is back. */
export function wonBack(original: number, cut: number, recovered: number): number {
  return (Math.log(cut) - Math.log(recovered)) / (Math.log(cut) - Math.log(original));
}

type All = readonly (readonly [Recipe, Measured])[];

/** Perplexity of a recipe that ends without a rounding. */
function perplexityOf(all: All, cut: string, recovery: Recovery): number | null {
  return all.find(([one]) => one.cut === cut && one.recovery === recovery && one.rounding === null)
    ?.[1].perplexity ?? null;
}

/** Of what the cut lost beside a model of this perplexity, the share that its recovery won back. */
function wonBackBy(recipe: Recipe, own: Measured, all: All, beside: number | null): number | null {
  const { cut, recovery, rounding } = recipe;
  if (recovery === "none" || rounding !== null || cut === "nothing") return null;
  const lost = perplexityOf(all, cut, "none");
  if (lost === null || beside === null || own.perplexity === null) return null;
  return wonBack(beside, lost, own.perplexity);
}

/** A row a recipe that was measured; `original`: the baseline's perplexity. */
export function recoveryRows(
  all: All,
  original: number | null,
): RecoveryRow[] {
  return all.map(([recipe, measured]) => {
    const { kl, ...figures } = measured;
    const { mean = null, low = null, high = null } = kl === null ? {} : meanKl(kl);
    const { cut, recovery, rounding } = recipe;
    const won_back = wonBackBy(recipe, measured, all, original);
    const kl_windows = kl?.map((one) => Number(one.toPrecision(5))) ?? null;
    const alike = perplexityOf(all, "nothing", recovery);
    const won_back_alike = wonBackBy(recipe, measured, all, alike);
    const own = { kl: mean, kl_windows, kl_low: low, kl_high: high, won_back, won_back_alike };
    return { cut, recovery, rounding, ...figures, ...own };
  });
}

const same = (one: RecoveryRow, other: RecoveryRow) =>
  one.cut === other.cut && one.recovery === other.recovery && one.rounding === other.rounding;

/** Kept rows with some recipes measured again in their place, and a new recipe's at the end. */
export function withRows(kept: readonly RecoveryRow[], all: All, original: number | null) {
  const pairs = kept.map(({ kl_windows, cut, recovery, rounding, ...row }) => (
    [{ cut, recovery, rounding, actions: [] }, { ...row, kl: kl_windows }] as const
  ));
  // What was measured again comes first: it is the one that is found.
  const again = recoveryRows([...all, ...pairs], original).slice(0, all.length);
  const added = again.filter((row) => !kept.some((one) => same(one, row)));
  return [...kept.map((one) => again.find((row) => same(one, row)) ?? one), ...added];
}

const digits = (value: number | null, count: number) => value === null ? "–" : value.toFixed(count);

function significant(value: number | null): string {
  if (value === null) return "–";
  return Math.abs(value) >= 1000 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}

const percent = (share: number) => `${digits(100 * share, 0)} %`;

function wonBackText({ won_back, won_back_alike }: RecoveryRow): string {
  const alike = won_back_alike === null ? "" : ` (${percent(won_back_alike)})`;
  return percent(won_back!) + alike;
}

/** The table as Markdown. */
export function recoveryTable(rows: readonly RecoveryRow[]): string {
  const head = [
    ...[
      "cut",
      "then",
      "KL",
      "perplexity",
      "won back (alike)",
      "accuracy",
      "drop (95 %)",
      "latency ×",
    ],
    ...["MB", "training, min"],
  ];
  const lines = rows.map((row) => {
    const then = [
      ...(row.recovery === "none" ? [] : [row.recovery]),
      ...(row.rounding === null ? [] : [row.rounding]),
    ].join(", ");
    // All questions were asked: nothing is open about this benchmark.
    const exact = row.drop_low !== null && row.drop_high! - row.drop_low < 1e-9;
    const range = row.drop_low === null || exact
      ? ""
      : ` (${digits(row.drop_low, 3)} to ${digits(row.drop_high, 3)})`;
    const size = row.size_bytes === null ? null : row.size_bytes / 1e6;
    const minutes = row.training_seconds === null ? null : row.training_seconds / 60;
    return [
      ...[row.cut, then, significant(row.kl), significant(row.perplexity)],
      row.won_back === null ? "" : wonBackText(row),
      ...[digits(row.accuracy, 3), `${digits(row.accuracy_drop, 3)}${range}`],
      ...[
        digits(row.latency_ratio, 2),
        digits(size, 0),
        row.recovery === "none" ? "" : digits(minutes, 1),
      ],
    ];
  });
  const text = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [text(head), text(head.map(() => "---")), ...lines.map(text)].join("\n");
}
