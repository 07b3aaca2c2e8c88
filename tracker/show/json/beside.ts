import { metricOf, METRICS, metricWords, UsageError } from "../../../core/mod.ts";
import type { Store } from "../../store/store.ts";
import { textTable } from "../terminal/table.ts";
import type { TrialsCompared } from "../view/compare_trials.ts";
import { differenceText, signedText } from "../view/difference_text.ts";
import { bytes, number } from "../view/number_text.ts";
import { nameIn } from "../view/size_words.ts";
import type { TrialRow } from "../view/trial_rows.ts";
import type { StudiesBeside, TrialsBeside } from "./json_shapes.ts";
import { finite } from "./print_json.ts";

/**
 * Costs of two trials. What was timed in other minutes stands by its ratio to the baseline of those
 * minutes, where both have it, and not a second time as it was timed or the other way round.
 */
export function costsBeside(first: TrialRow, second: TrialRow): TrialsBeside["costs"] {
  // The original's distance to itself is its rounding alone: nothing is so many times that.
  const itself = first.baseline || second.baseline;
  const cost = (metric: string, one: number | undefined, other: number | undefined) =>
    one === undefined || other === undefined ? [] : [{
      ...{ metric, first: finite(one), second: finite(other) },
      ratio: itself && metricOf(metric)?.kind === "distance" ? null : finite(other / one),
    }];
  const inTurn = (name: string) => name in first.ratios && name in second.ratios;
  const ratios = METRICS.flatMap(({ name, ratio }) =>
    ratio === undefined ? [] : cost(ratio, first.ratios[name], second.ratios[name])
  );
  // Latency is that ratio already, times one baseline.
  const measured = METRICS.filter(({ kind, name, reciprocal_of }) =>
    kind !== "quality" && (name === "latency_ms" || !inTurn(name)) &&
    (reciprocal_of === undefined || !inTurn(reciprocal_of))
  ).flatMap(({ name }) => cost(name, first.figures[name]?.value, second.figures[name]?.value));
  return [...ratios, ...measured];
}

/** Two trials beside each other, as `--json` prints them. */
export function trialsBeside(
  [first, second]: readonly [string, string],
  { comparisons, refused }: TrialsCompared,
  costs: TrialsBeside["costs"],
): TrialsBeside {
  const tasks = comparisons.map((one) => ({
    ...{ task: one.task, metric: one.metric, n: one.n },
    ...{ first: finite(one.reference), second: finite(one.score) },
    difference: finite(one.difference),
    interval: one.interval?.every(Number.isFinite)
      ? [one.interval[0], one.interval[1]] as [number, number]
      : null,
    p_adjusted: finite(one.p_adjusted),
  }));
  return { first, second, tasks, costs, refused: [...refused] };
}

/** What a cost is called: a ratio to each trial's own baseline says so. */
export function costWords(name: string): string {
  const over = METRICS.find(({ ratio }) => ratio === name);
  return over === undefined
    ? metricOf(name)?.heading ?? metricWords(name)
    : `${over.words} / own baseline`;
}

/** The comparison as a terminal shows it: the second trial against the first; `width` as of `textTable`. */
export function besideText(
  { first, second, tasks, costs, refused }: TrialsBeside,
  width?: number,
): string {
  // Trials of two studies may have one name: then each says its study.
  const apart = nameIn(first) !== nameIn(second);
  const [one, other] = apart ? [nameIn(first), nameIn(second)] : [first, second];
  const quality = tasks.map((row) => [
    row.task,
    metricWords(row.metric),
    number(row.first),
    number(row.second),
    differenceText({ ...row, value: row.difference }),
    number(row.p_adjusted, 2),
    String(row.n),
  ]);
  const shown = (metric: string, value: number | null) =>
    metricOf(metric)?.unit === "bytes" ? bytes(value) : number(value);
  const cost = costs.map(({ metric, first, second, ratio }) => [
    costWords(metric),
    shown(metric, first),
    shown(metric, second),
    number(ratio),
  ]);
  const difference = "difference [95 %]";
  const head = ["task", "metric", one, other, difference, "p (Holm)", "n"];
  // What the two are compared for stays longest where there is no room.
  const first_kept = ["task", difference, "metric", one, other, "n"];
  const costs_kept = ["cost", "ratio", one, other];
  const room = width === undefined ? {} : { width };
  return [
    ...(quality.length === 0 ? [] : [textTable(head, quality, { ...room, first: first_kept })]),
    ...(cost.length === 0
      ? []
      : [textTable(["cost", one, other, "ratio"], cost, { ...room, first: costs_kept })]),
    ...(refused.length === 0 ? [] : [refused.join("\n")]),
  ].join("\n\n");
}

const TWO = `FROM study_comparison
  WHERE first_study_id IN ($a, $b) AND second_study_id IN ($a, $b)`;

/** What the view study_comparison says of each study of a pair, in the order of a table. */
const ROWS = [
  "trials",
  "minutes",
  "decision",
  "recommended",
  "metric",
  "quality",
  "quality_difference",
  "latency_ratio",
  "size_bytes",
  "best_reward",
  "hypervolume",
];

/** Two studies beside each other, in the order in which they were named. */
export async function studiesBeside(
  store: Store,
  first: string,
  second: string,
): Promise<StudiesBeside> {
  if (first === second) {
    throw new UsageError(`Cannot compare the study ${first} with itself: name two studies`);
  }
  const [row] = await store.ask(TWO, { params: { a: first, b: second } });
  if (row === undefined) {
    throw new UsageError(
      `Cannot compare the studies ${first} and ${second} as the index lacks one of them: ` +
        "`pare store check` says why",
    );
  }
  const [one, other] = row["first_study_id"] === first ? ["first", "second"] : ["second", "first"];
  const cell = (value: unknown) =>
    typeof value === "string" ? value : value === null ? null : finite(Number(value));
  return {
    ...{ first, second },
    same_model: row["same_model"] === true,
    same_dataset: row["same_dataset"] === true,
    same_protocol: row["same_protocol"] === null ? null : row["same_protocol"] === true,
    rows: ROWS.map((what) => ({
      what,
      first: cell(row[`${one}_${what}`]),
      second: cell(row[`${other}_${what}`]),
    })),
  };
}

/** What is the same of two studies, what is not, and what nobody knows: a sentence each. */
export function sameLines(beside: StudiesBeside): string[] {
  const said = [
    [beside.same_model, "the model"],
    [beside.same_dataset, "the dataset"],
    [beside.same_protocol, "the protocol of the full evaluation"],
  ] as const;
  const known = (wanted: boolean | null) =>
    said.filter(([same]) => same === wanted).map(([, what]) => what).join(", ");
  return [
    known(true) && `The same: ${known(true)}.`,
    known(false) &&
    `Different: ${known(false)}; figures of the two may not be compared as if it were the same.`,
    known(null) && `Not known: ${known(null)}.`,
  ].filter((line) => line !== "");
}

/** What a study's quality is, which its difference is on the scale of. */
export function metricIn({ rows }: StudiesBeside, which: "first" | "second"): string {
  return String(rows.find(({ what }) => what === "metric")?.[which] ?? "accuracy");
}

/** The same as a terminal shows it; what may not be compared is said first. */
export function studiesText(beside: StudiesBeside): string {
  const { first, second, rows } = beside;
  const cell = (what: string, value: string | number | null, which: "first" | "second") =>
    typeof value === "string"
      ? nameIn(value)
      : what === "size_bytes"
      ? bytes(value)
      : what === "quality_difference"
      ? signedText(metricIn(beside, which), value)
      : number(value);
  const table = rows.map(({ what, ...of }) => [
    what.replaceAll("_", " "),
    cell(what, of.first, "first"),
    cell(what, of.second, "second"),
  ]);
  return `${sameLines(beside).join("\n")}\n\n${textTable(["", first, second], table)}`;
}
