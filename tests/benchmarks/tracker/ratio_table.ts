import { textTable } from "../../../tracker/show/terminal/table.ts";

/** One figure of this tracker beside a peer's. */
export interface RatioRow {
  readonly what: string;
  readonly ours: number;
  readonly unit: "points/s" | "samples/s" | "ms" | "s" | "bytes/point";
  readonly peer: { readonly name: string; readonly figure: number } | null;
  /** So many times better than the peer, or a figure under this. */
  readonly goal: { readonly times: number } | { readonly under: number } | null;
  /** Whether what was measured does not tell the two apart: said instead of a goal missed. */
  readonly alike?: boolean;
}

/** Digits that count, thousands apart. */
function figureText(value: number, unit: RatioRow["unit"]): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${text} ${unit}`;
}

/** How many times better than the peer: above 1 is better, whatever the unit. */
export function timesBetter({ ours, unit, peer }: Pick<RatioRow, "ours" | "unit" | "peer">) {
  if (peer === null) return null;
  return unit.endsWith("/s") ? ours / peer.figure : peer.figure / ours;
}

/** Whether a row reaches its goal; null where it has none. */
export function reaches(row: RatioRow): boolean | null {
  if (row.goal === null) return null;
  if ("under" in row.goal) return row.ours < row.goal.under;
  const times = timesBetter(row);
  return times !== null && times >= row.goal.times;
}

function goalText({ goal, unit }: RatioRow): string {
  if (goal === null) return "–";
  return "under" in goal ? `< ${goal.under} ${unit}` : `≥ ${goal.times}×`;
}

/** The rows as a table: ours, the peer, how many times better, the goal, met or not. */
export function ratioTable(rows: readonly RatioRow[]): string {
  const cells = rows.map((row) => {
    const times = timesBetter(row);
    const met = reaches(row);
    return [
      row.what,
      figureText(row.ours, row.unit),
      row.peer === null ? "–" : figureText(row.peer.figure, row.unit),
      row.peer?.name ?? "–",
      times === null ? "–" : `${times >= 10 ? times.toFixed(0) : times.toFixed(2)}×`,
      goalText(row),
      met === null ? "–" : met ? "yes" : row.alike ? "alike" : "NO",
    ];
  });
  return textTable(["what", "ours", "peer", "peer is", "better", "goal", "met"], cells);
}
