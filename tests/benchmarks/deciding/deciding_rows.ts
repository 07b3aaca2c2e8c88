import { FLIPS_BY_FIFTH, GUESSED, simulateByMargin } from "./by_margin.ts";
import {
  byFixedInterval,
  bySequence,
  type Decided,
  fixedSize,
  LIMIT,
  type Setting,
  simulateDifferences,
} from "./simulate.ts";

/** One line of the table. */
export interface DecidingRow extends Setting {
  readonly source: string;
  readonly own: Decided;
  /** The interval of one look, looked at after every batch; null: not asked. */
  readonly looked: Decided | null;
  readonly fixed: number;
}

export function rowOf(
  source: string,
  setting: Setting,
  found: Readonly<Record<string, Decided>>,
  fixed: number,
): DecidingRow {
  return { source, ...setting, own: found["own"]!, looked: found["looked"]!, fixed };
}

/** A benchmark whose samples change more where the original was unsure: drawn alike, and by that. */
export function marginRows(
  population: number,
  drop: number,
  studies: number,
  seed: number,
  distance: number,
): DecidingRow[] {
  const flips = FLIPS_BY_FIFTH.reduce((sum, share) => sum + share, 0) / FLIPS_BY_FIFTH.length;
  const setting = { population, flips, drop };
  const ways = [
    ["unsure fifths, drawn alike", FLIPS_BY_FIFTH.map(() => 1)],
    ["unsure fifths, drawn more often", GUESSED],
  ] as const;
  return ways.map(([source, rates]) => ({
    source,
    ...setting,
    own: simulateByMargin(setting, rates, LIMIT, studies, seed),
    looked: null,
    fixed: fixedSize(setting, distance),
  }));
}

/** A recorded trial's differences to its baseline, taken in other orders. */
export function deciding(
  name: string,
  differences: Int8Array,
  studies: number,
  seed: number,
  distance: number,
): DecidingRow {
  const population = differences.length;
  const setting = {
    population,
    flips: differences.reduce((sum, d) => sum + Math.abs(d), 0) / population,
    drop: differences.reduce((sum, d) => sum + d, 0) / population,
  };
  const deciders = { own: bySequence(LIMIT), looked: byFixedInterval(LIMIT) };
  const found = simulateDifferences(differences, LIMIT, studies, seed, deciders);
  return rowOf(name, setting, found, fixedSize(setting, distance));
}

const COLUMNS = [
  "answers",
  "samples",
  "flips",
  "drop",
  "wrong %",
  "median",
  "90 %",
  "fixed size",
  "median / fixed",
  "looked at: wrong %",
  "median",
];

/** A Markdown table. */
export function table(rows: readonly DecidingRow[], head = true): string {
  const percent = (share: number) => (100 * share).toFixed(2);
  const lines = rows.map(({ source, population, flips, drop, own, looked, fixed }) => [
    source,
    population,
    percent(flips),
    drop.toFixed(4),
    percent(own.wrong),
    own.median,
    own.most,
    fixed,
    fixed === 0 ? "–" : (own.median / fixed).toFixed(2),
    looked === null ? "–" : percent(looked.wrong),
    looked?.median ?? "–",
  ]);
  const all = head ? [COLUMNS, COLUMNS.map(() => "---"), ...lines] : lines;
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
