import { textTable } from "../../tracker/show/terminal/table.ts";

/** One measured thing beside its peer. */
export interface BenchRow {
  readonly what: string;
  readonly figure: number | null;
  readonly unit: "s" | "ms" | "%" | "ms/token";
  /** The same done by the peer, in the same unit. */
  readonly peer?: number | null;
  readonly peer_name?: string;
  /** The figure may be at most this, or below it. */
  readonly goal?: { readonly at_most: number } | { readonly under: number };
  /** How it was measured: repeats, median or once, load. */
  readonly how: string;
}

const HEAD = ["what", "figure", "peer", "ratio", "goal", "met", "peer is"];

/** Three figures that count; seconds and milliseconds with their unit. */
export function withUnit(value: number | null | undefined, unit: BenchRow["unit"]): string {
  if (value === null || value === undefined) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** Whether a figure reaches its goal; null where there is none, or no figure. */
export function isMet({ figure, goal }: Pick<BenchRow, "figure" | "goal">): boolean | null {
  if (goal === undefined || figure === null) return null;
  return "under" in goal ? figure < goal.under : figure <= goal.at_most;
}

function goalText({ goal, unit }: BenchRow): string {
  if (goal === undefined) return "–";
  return "under" in goal ? `< ${goal.under} ${unit}` : `≤ ${goal.at_most} ${unit}`;
}

function ratioText(ratio: number): string {
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2);
}

function cells(row: BenchRow): string[] {
  const { figure, peer = null, unit } = row;
  const met = isMet(row);
  const ratio = figure === null || peer === null || peer === 0 ? "–" : ratioText(figure / peer);
  return [
    row.what,
    withUnit(figure, unit),
    withUnit(peer, unit),
    ratio,
    goalText(row),
    met === null ? "–" : met ? "yes" : "NO",
    row.peer_name ?? "–",
  ];
}

/** The table, and below it how each row was measured; rows measured alike share a line. */
export function benchTable(rows: readonly BenchRow[]): string {
  const ways = [...new Set(rows.map(({ how }) => how))];
  const numbered = rows.map((row) => [...cells(row), `[${ways.indexOf(row.how) + 1}]`]);
  const notes = ways.map((how, index) => `[${index + 1}] ${how}`);
  return `${textTable([...HEAD, "how"], numbered)}\n\n${notes.join("\n")}`;
}

/** The middle of the values; the mean of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** `5 repeats, median of 4.1 to 4.9 ms, load average 1.2`. */
export function repeatsText(values: readonly number[], unit: string, load: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${values.length} repeats, median; ${low.toFixed(0)} to ${high.toFixed(0)} ${unit}; ` +
    `load average ${load.toFixed(1)}`;
}
