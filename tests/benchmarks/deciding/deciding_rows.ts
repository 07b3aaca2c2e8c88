import { drawRates, fifthsOf, FLIPS, FLIPS_BY_FIFTH, simulateByMargin } from "./by_margin.ts";
import { simulateAnswered, unsureBenchmark } from "./by_predictor.ts";
import { flipsByFifth, placesByFifth, type RecordedTrial } from "./recorded_trials.ts";
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

/** Sources of rows that decide with more than the scores. */
export const UNSURE = "unsure fifths, drawn more often";
export const PREDICTED = "unsure fifths, the original's answers used";

/** A benchmark that changes where the original was unsure, decided as the product does. */
export function predictedRow(
  setting: Setting,
  studies: number,
  seed: number,
  distance: number,
): DecidingRow {
  return {
    ...{ source: PREDICTED, ...setting, looked: null, fixed: fixedSize(setting, distance) },
    own: simulateAnswered(unsureBenchmark(setting), true, { limit: LIMIT, studies, seed }),
  };
}

/** A benchmark whose samples change more where the original was unsure: drawn alike, and by that. */
export function marginRows(
  population: number,
  drop: number,
  studies: number,
  seed: number,
  distance: number,
): DecidingRow[] {
  const setting = { population, flips: FLIPS, drop };
  const ways = [
    ["unsure fifths, drawn alike", FLIPS_BY_FIFTH.map(() => 1)],
    [UNSURE, drawRates(FLIPS_BY_FIFTH)],
  ] as const;
  return ways.map(([source, rates]) => ({
    source,
    ...setting,
    own: simulateByMargin(fifthsOf(population, drop), rates, LIMIT, studies, seed),
    looked: null,
    fixed: fixedSize(setting, distance),
  }));
}

function settingOf(differences: Int8Array): Setting {
  const population = differences.length;
  return {
    population,
    flips: differences.reduce((sum, d) => sum + Math.abs(d), 0) / population,
    drop: differences.reduce((sum, d) => sum + d, 0) / population,
  };
}

/** A recorded trial's differences to its baseline, taken in other orders. */
export function deciding(
  name: string,
  differences: Int8Array,
  studies: number,
  seed: number,
  distance: number,
): DecidingRow {
  const setting = settingOf(differences);
  const deciders = { own: bySequence(LIMIT), looked: byFixedInterval(LIMIT) };
  const found = simulateDifferences(differences.slice(), LIMIT, studies, seed, deciders);
  return rowOf(name, setting, found, fixedSize(setting, distance));
}

/** What a recorded row's source ends with where more than the scores decided. */
export const RECORDED_WAYS = [
  ", drawn where unsure",
  ", the original's answers used",
] as const;

/**
 * A recorded trial decided by its scores, as the product does by what the original answered, and by drawing
 * where it was unsure as other trials of the model showed it; none: that is left out.
 */
export function recordedRows(
  trial: RecordedTrial,
  others: readonly RecordedTrial[],
  studies: number,
  seed: number,
  distance: number,
): DecidingRow[] {
  const { name, differences } = trial;
  const setting = settingOf(differences);
  const about = { ...setting, fixed: fixedSize(setting, distance), looked: null };
  const fewer = Math.ceil(studies / 5);
  const answered = simulateAnswered(trial, true, { limit: LIMIT, studies: fewer, seed });
  const rows = [
    deciding(name, differences, studies, seed, distance),
    { source: `${name}${RECORDED_WAYS[1]}`, ...about, own: answered },
  ];
  if (others.length === 0) return rows;
  const fifths = placesByFifth(trial)
    .map((places) => Int8Array.from(places, (place) => differences[place]!));
  const unsure = simulateByMargin(fifths, drawRates(flipsByFifth(others)), LIMIT, fewer, seed);
  return [...rows, { source: `${name}${RECORDED_WAYS[0]}`, ...about, own: unsure }];
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

/** Benchmarks that the page's table shows. */
const SHOWN = { population: 5000, flips: [0.1, 0.2] };

/** A trial's answers by its number, without the id of its study. */
const ofTrial = (source: string) => source.replace(/^[^/]+\//, "");

/**
 * The page's table: medians over the fixed size, a line a benchmark, by scores alone, by drawing where the
 * original was unsure, and with its answers as a control variate.
 */
export function pageTable(rows: readonly DecidingRow[]): string {
  const share = (row: DecidingRow | undefined) =>
    row === undefined || row.fixed === 0 ? "–" : (row.own.median / row.fixed).toFixed(2);
  const percent = (value: number) => (100 * value).toFixed(1);
  const line = (
    plain: DecidingRow,
    name: string,
    unsure: DecidingRow | undefined,
    known: DecidingRow | undefined,
  ) => [
    ...[name, percent(plain.flips), plain.drop.toFixed(3), percent(plain.own.wrong)],
    ...[plain.own.median, plain.fixed, share(plain), share(unsure)],
    share(known),
    plain.looked === null ? "–" : percent(plain.looked.wrong),
  ];
  const alike = (row: DecidingRow, { population, flips, drop }: Setting) =>
    row.population === population && Math.abs(row.flips - flips) < 1e-9 && row.drop === drop;
  const simulated = rows.filter(({ source, population, flips }) =>
    source === "simulated" && population === SHOWN.population && SHOWN.flips.includes(flips)
  ).map((plain) => {
    const of = (source: string) => rows.find((row) => row.source === source && alike(row, plain));
    return line(plain, "simulated", of(UNSURE), of(PREDICTED));
  });
  const recorded = rows.flatMap((plain) => {
    const [unsure, known] = RECORDED_WAYS.map((way) =>
      rows.find(({ source }) => source === `${plain.source}${way}`)
    );
    return known === undefined ? [] : [line(plain, ofTrial(plain.source), unsure, known)];
  });
  const head = [
    "answers of",
    "flips %",
    "drop",
    "wrong %",
    "median",
    "fixed size",
    "of it",
    "drawn where unsure",
    "the original's answers used",
    "looked at: wrong %",
  ];
  return [head, head.map(() => "---"), ...simulated, ...recorded]
    .map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

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
