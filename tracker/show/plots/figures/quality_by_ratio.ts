import * as Plot from "@observablehq/plot";
import { ALARM, INK, PAPER, QUIET, type Shape, signsOf } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";
import { counted } from "../../view/number_text.ts";

export type QualityByRatioOptions = FigureOptions;

const COLUMNS = {
  figure: "qualityByRatio",
  sql: "SELECT d.*, s.fp16_bytes / a.size_bytes AS ratio FROM stage_decisions d JOIN studies s " +
    "USING (study_id) JOIN artifacts a ON a.artifact_id = d.to_artifact WHERE d.attempt > 0",
  required: { stage: text, about: text, value: numeric, ratio: numeric },
  optional: {
    subject: text,
    attempt: numeric,
    interval_low: numeric,
    interval_high: numeric,
    threshold: numeric,
    decision: text,
  },
};
type Row = ReturnType<typeof rowsOf>[number];
const rowsOf = (rows: readonly object[]) => readRows(rows, COLUMNS);

/** What one attempt keeps of one set of benchmarks. */
interface Point {
  readonly set: string;
  readonly name: string;
  readonly ratio: number;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly threshold: number | null;
  readonly failed: boolean;
  readonly colour: string;
  readonly shape: Shape;
}

const CORE = "core";
const HEIGHT = 230;
const MARGIN = { marginLeft: 48, marginRight: 14, marginTop: 30, marginBottom: 40 };
/** Beyond these an interval tells no more; its end is cut there. */
const MOST = [-0.5, 1.5] as const;
const TICKS = [0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256];

/** The set that a check belongs to: the core, or an expert's domain; null: none. */
function setOf({ about, subject }: Row): string | null {
  if (about === "core" || about === "cumulative") return CORE;
  return about === "expert" && subject !== null ? subject.split("/")[0]! : null;
}

function nameOf({ stage, attempt }: Row): string {
  const own = stage ?? "–";
  return attempt === null || attempt <= 1 ? own : `${own}, attempt ${attempt}`;
}

/** The mean of a set's checks: the run's own where it has one, else theirs, their errors apart. */
function meanOf(rows: readonly Row[]) {
  const own = rows.filter(({ about }) => about === "cumulative");
  const of = own.length > 0 ? own : rows;
  const value = of.reduce((sum, row) => sum + row.value!, 0) / of.length;
  const end = (side: "interval_low" | "interval_high") =>
    of.some((row) => row[side] === null)
      ? null
      : Math.hypot(...of.map((row) => row[side]! - row.value!)) / of.length;
  const [down, up] = [end("interval_low"), end("interval_high")];
  return {
    value,
    low: down === null ? null : value - down,
    high: up === null ? null : value + up,
  };
}

/** Points of every set, attempt by attempt, in the order of the ledger. */
function pointsOf(rows: readonly Row[]): Point[] {
  const judged = rows.flatMap((row) => {
    const set = setOf(row);
    const told = set !== null && row.value !== null && row.ratio !== null && row.ratio > 0 &&
      row.decision !== "not_applicable";
    return told ? [{ ...row, set, name: nameOf(row) }] : [];
  });
  const signs = signsOf(judged.map(({ name }) => name));
  return [...Map.groupBy(judged, ({ set, name }) => `${set}\n${name}`).values()].map((own) => {
    const { set, name, ratio } = own[0]!;
    const gate = own.find(({ about }) => about !== "cumulative");
    return {
      ...{ set, name, ratio: ratio!, threshold: gate?.threshold ?? null },
      ...meanOf(own),
      ...signs.get(name)!,
      failed: own.some(({ decision }) => decision === "failed"),
    };
  });
}

/** Ends of the axes over all panels, so that they can be compared. */
function axesOf(points: readonly Point[], cumulative: number | null) {
  const values = points.flatMap(({ value, threshold, low, high }) => [
    ...[value, threshold ?? 1, Math.max(low ?? 1, MOST[0]), Math.min(high ?? 1, MOST[1])],
  ]);
  const all = [...values, cumulative ?? 1, 1];
  const ratios = [...points.map(({ ratio }) => ratio), 1];
  const x = [Math.min(...ratios) / 1.2, Math.max(...ratios) * 1.2] as const;
  return {
    x,
    y: [Math.min(...all) - 0.02, Math.max(...all) + 0.02] as const,
    ticks: TICKS.filter((tick) => tick >= x[0] && tick <= x[1]),
  };
}

function panelOf(
  set: string,
  points: readonly Point[],
  axes: ReturnType<typeof axesOf>,
  cumulative: number | null,
): Panel {
  return (width) => {
    const [low, high] = axes.y;
    const at = { x: "ratio", y: "value", symbol: "shape" } as const;
    const near = axes.ticks.length > width / 34;
    const bars = points.filter((one) => one.low !== null && one.high !== null)
      .map((one) => ({ ...one, low: Math.max(one.low!, low), high: Math.min(one.high!, high) }));
    const gates = points.filter(({ threshold }) => threshold !== null)
      .map((one) => ({ ...one, left: one.ratio / 1.08, right: one.ratio * 1.08 }));
    return {
      ...MARGIN,
      height: HEIGHT,
      x: {
        ...{ type: "log", domain: [...axes.x], label: "→ better: times smaller on disk" },
        ...{
          labelArrow: "none",
          grid: true,
          ticks: axes.ticks.filter((_, i) => !near || i % 2 === 0),
        },
        tickFormat: (tick: number) => `${tick}`,
      },
      y: {
        ...{ domain: [low, high], label: `↑ better: ${shorten(set, width - 190, 11)} keeps` },
        ...{ labelArrow: "none", grid: true, ticks: 5 },
      },
      marks: [
        cumulative === null || set !== CORE ? null : Plot.ruleY([cumulative], {
          ...{ stroke: ALARM, strokeDasharray: "4 3", strokeWidth: 1.2 },
        }),
        Plot.ruleY(gates, {
          ...{ x1: "left", x2: "right", y: "threshold", stroke: ALARM, strokeWidth: 2.2 },
        }),
        Plot.ruleX(bars, { x: "ratio", y1: "low", y2: "high", stroke: "colour", strokeWidth: 1.4 }),
        Plot.dot([{ ratio: 1, value: 1 }], { x: "ratio", y: "value", r: 4, fill: QUIET }),
        Plot.dot(points.filter(({ failed }) => failed), {
          ...{ ...at, r: 5, stroke: "colour", strokeWidth: 1.8, fill: PAPER },
        }),
        Plot.dot(points.filter(({ failed }) => !failed), { ...at, r: 5.5, fill: "colour" }),
      ],
    };
  };
}

/**
 * What each attempt of a staged run keeps of each set of benchmarks, over how many times smaller its files
 * are than the original at 2 bytes a weight. Rows: those of `stage_decisions` with the column `ratio`.
 */
export function qualityByRatio(rows: readonly object[], options?: QualityByRatioOptions): string {
  const settled = readOptions("qualityByRatio", FigureOptions, options);
  const all = rowsOf(rows);
  const points = pointsOf(all);
  const cumulative =
    all.find(({ about, threshold }) => about === "cumulative" && threshold !== null)?.threshold ??
      null;
  const axes = axesOf(points, cumulative);
  const sets = [...Map.groupBy(points, ({ set }) => set)]
    .toSorted(([a], [b]) => Number(b === CORE) - Number(a === CORE)); // the core first
  const names = new Map(points.map(({ name, colour, shape }) => [name, { colour, shape }]));
  const best = points.filter(({ set, failed }) => set === CORE && !failed)
    .toSorted((a, b) => b.ratio - a.ratio)[0];
  const cut = points.some(({ low, high }) =>
    (low !== null && low < axes.y[0]) || (high !== null && high > axes.y[1])
  );
  return drawFigure({
    title: "Quality by compression ratio",
    subtitle: points.length === 0 ? "" : "retention above guessing, by set of benchmarks",
    description: points.length === 0
      ? `Nothing is drawn: no stage was judged beside the original. ${COLUMNS.sql} gives the rows.`
      : `${counted(names.size, "attempt")} on ${counted(sets.length, "set")} of benchmarks; ` +
        (best === undefined
          ? "none keeps enough of the core."
          : `the smallest that keeps enough of the core is ${best.name}: ` +
            `${best.value.toFixed(3)} at ${best.ratio.toFixed(2)} times smaller.`),
    legend: points.length === 0 ? [] : [
      { text: "the original", shape: "circle", colour: QUIET },
      ...[...names].map(([text, sign]) => ({ text, ...sign })),
      { text: "hollow: a gate of the set failed", shape: "circle", colour: INK, hollow: true },
      { text: "least that passes the stage", shape: "line", colour: ALARM },
      ...cumulative === null
        ? []
        : [{ text: "least mean of the core", shape: "dashes", colour: ALARM } as const],
    ],
    notes: points.length === 0 ? [] : [
      "The mean of a set with its 95 % interval; the stage's least holds for each benchmark, or for " +
      "the mean where the document says so.",
      ...cut ? [`Intervals that reach further are cut at ${MOST.join(" and ")}.`] : [],
    ],
    panels: sets.map(([set, own]) => panelOf(set, own, axes, cumulative)),
    columns: 3,
  }, settled);
}
