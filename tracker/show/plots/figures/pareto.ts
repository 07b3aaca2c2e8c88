import * as Plot from "@observablehq/plot";
import { z } from "zod";
import {
  atContext,
  isShare,
  metricOf,
  METRICS,
  metricWords,
  PERPLEXITY_RISE_PER_ACCURACY_DROP,
  type QualityMetric,
} from "../../../../core/mod.ts";
import { ALARM, INK, PAPER, QUIET, RULE, type Sign, signsOf } from "../ground/colours.ts";
import { drawFigure, drawPanel, type Panel } from "../ground/frame.ts";
import type { LegendItem } from "../ground/legend.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { newDocument } from "../ground/svg.ts";
import { listed } from "../ground/words.ts";
import { counted } from "../../view/number_text.ts";
import { type Box, labelBox, labelWidth, placeLabels } from "../place_labels.ts";
import { type QualityColumn, qualityColumn, type Standing, standings } from "./pareto_points.ts";

const Options = FigureOptions.extend({
  objectives: z.array(z.string()).optional().describe("costs, a panel each, up to six"),
  quality: z.enum(["accuracy", "perplexity"]).optional().describe("drawn upwards"),
  allowed_drop: z.number().nullable().optional().describe(
    "of accuracy: a line below the baseline; in a study of perplexity the rise that it allows",
  ),
  context_tokens: z.number().nullable().optional().describe(
    "length of a prompt at which caches are counted",
  ),
  recommended: z.string().nullable().optional().describe("trial id"),
  because: z.string().nullable().optional().describe("why it is recommended"),
  subtitle: z.string().optional().describe("a line below the title"),
});
export type ParetoOptions = z.input<typeof Options>;

const COSTS = ["latency_ratio", "size_bytes", "memory_bytes", "energy_j_per_1k_tokens"];
const MOST_PANELS = 6;
/** More points off the front than these are drawn as bins, more labels than these not at all. */
const MOST_POINTS = 400;
const MOST_LABELS = 30;

interface Point extends Standing, Sign {
  readonly x: number;
  readonly y: number;
  readonly left: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

function pointsOf(all: readonly Standing[], cost: string, signs: Map<string, Sign>): Point[] {
  return all.flatMap((one) => {
    const at = one.costs[cost];
    if (at === undefined) return [];
    const sign = one.kind === "baseline"
      ? { colour: INK, shape: "star" as const }
      : signs.get(one.methods)!;
    const { value: x, low: left, high: right } = at;
    const { value: y, low, high } = one.quality;
    return [{ ...one, ...sign, x, left, right, y, low, high }];
  });
}

/** The staircase of the points that nothing dominates in this panel's two dimensions. */
function staircase(points: readonly Point[], up: boolean, less: boolean): Point[] {
  const valid = points.filter((one) => one.kind !== "violated" && !one.partial)
    .sort((a, b) => less ? a.x - b.x : b.x - a.x);
  const steps: Point[] = [];
  for (const point of valid) {
    const last = steps.at(-1);
    if (last === undefined || (up ? point.y > last.y : point.y < last.y)) steps.push(point);
  }
  return steps;
}

function intervalMarks(points: readonly Point[]): Plot.Markish[] {
  const across = points.filter(({ left, right }) => right > left);
  const upright = points.filter(({ low, high }) => high > low);
  return [
    Plot.link(upright, { x: "x", y1: "low", y2: "high", stroke: "colour", strokeOpacity: 0.5 }),
    Plot.link(across, { y: "y", x1: "left", x2: "right", stroke: "colour", strokeOpacity: 0.5 }),
  ];
}

/** Few points one by one; of many those off the front as bins, larger for more. */
function pointMarks(points: readonly Point[]): Plot.Markish[] {
  const at = { x: "x", y: "y", symbol: "shape" } as const;
  const of = (kind: Point["kind"]) => points.filter((one) => one.kind === kind);
  const off = [...of("dominated"), ...of("violated")];
  const [front, named] = [of("front"), points.filter((one) => one.recommended)];
  const title = (one: Point) => `${one.id}\n${one.methods}`;
  const few = off.length <= MOST_POINTS;
  const line = { ...at, title, r: 4.5, stroke: "colour", strokeWidth: 1.6 };
  return [
    ...intervalMarks(few ? points : front.slice(0, MOST_LABELS)),
    few ? Plot.dot(off, { ...line, fill: PAPER }) : Plot.dot(
      off,
      Plot.hexbin({ r: "count" }, {
        ...{ x: "x", y: "y", binWidth: 12, stroke: QUIET, fill: QUIET, fillOpacity: 0.25 },
      }),
    ),
    few ? Plot.dot(of("violated"), { ...line, symbol: "times" }) : null,
    Plot.dot(front, { ...at, title, r: 5.5, fill: "colour", stroke: PAPER }),
    Plot.dot(named, { x: "x", y: "y", r: 10, stroke: INK, strokeWidth: 1.6 }),
    Plot.dot(of("baseline").slice(0, 1), { ...at, title, r: 6, fill: INK }),
  ];
}

const MARGIN = { marginLeft: 54, marginRight: 20, marginTop: 32, marginBottom: 42 };
const HEIGHT = 330;

/** The limit on the quality, where it is drawn and what is said of it. */
interface Limit {
  readonly at: number;
  readonly text: string;
}

/** Of accuracy below the baseline, of perplexity above it: the relative rise that a study allows for it. */
function limitOf(
  { metric, paired }: QualityColumn,
  drop: number | null,
  all: readonly Standing[],
): Limit | null {
  const baseline = all.find(({ kind }) => kind === "baseline")?.quality.value;
  if (drop === null || (!paired && baseline === undefined)) return null;
  if (metric === "accuracy") {
    return { at: (paired ? 0 : baseline!) - drop, text: `allowed drop ${drop}` };
  }
  const rise = Number((100 * PERPLEXITY_RISE_PER_ACCURACY_DROP * drop).toPrecision(6));
  return { at: paired ? rise : baseline! * (1 + rise / 100), text: `allowed rise ${rise} %` };
}

/** Pixels that its text stands above its line. */
const ABOVE = 6;

/**
 * Labels where they cover neither another nor a point nor an interval nor what is said of the allowed
 * drop; of many trials the front's.
 */
function labelMarks(
  points: readonly Point[],
  options: Plot.PlotOptions,
  width: number,
  limit: Limit | null,
) {
  const named = points.filter((one) =>
    points.length <= MOST_LABELS || one.recommended || one.kind === "baseline"
  );
  const front = points.filter((one) => one.kind === "front" && !named.includes(one));
  const labelled = [...named, ...front.slice(0, MOST_LABELS)];
  if (labelled.length === 0) return [];
  const bare = drawPanel(newDocument(), width, options);
  const [x, y] = (["x", "y"] as const).map((name) => (value: number) =>
    Number(bare.scale(name)!.apply(value))
  );
  const box = (l: number, t: number, r: number, b: number, by: number): Box => ({
    ...{ left: Math.min(l, r) - by, right: Math.max(l, r) + by },
    ...{ top: Math.min(t, b) - by, bottom: Math.max(t, b) + by },
  });
  const near = points.length <= MOST_POINTS ? points : labelled;
  const taken = near.flatMap((one) => {
    const [px, py] = [x!(one.x), y!(one.y)];
    return [
      box(px, py, px, py, one.recommended ? 11 : 7),
      box(px, y!(one.low), px, y!(one.high), 1),
      box(x!(one.left), py, x!(one.right), py, 1),
    ];
  });
  const said = limit === null ? [] : [
    labelBox({ x: width - MARGIN.marginRight, y: y!(limit.at), text: limit.text }, {
      dx: -labelWidth(limit.text) / 2,
      dy: -ABOVE,
    }),
  ];
  const frame = box(MARGIN.marginLeft, MARGIN.marginTop, width - 4, HEIGHT - 42, 0);
  const at = labelled.map((one) => ({ x: x!(one.x), y: y!(one.y), text: one.name }));
  return placeLabels(at, [...taken, ...said], frame).map((offset, index) =>
    Plot.text([labelled[index]!], {
      ...{ ...offset, x: "x", y: "y", text: "name", fontSize: 11, fill: INK },
      ...{ stroke: PAPER, strokeWidth: 3 },
    })
  );
}

function costLabel(
  cost: string,
  context_tokens: number | undefined,
): { label: string; less: boolean } {
  const over = METRICS.find(({ ratio }) => ratio === cost);
  if (over !== undefined) {
    return { label: `← better: ${over.words}, × the baseline's`, less: true };
  }
  const metric = metricOf(cost);
  const less = metric?.direction !== "maximize";
  const unit = metric === undefined
    ? ""
    : metric.unit === "bytes"
    ? " (MB)"
    : metric.unit === "1" || metric.unit === metric.words
    ? ""
    : ` (${metric.unit})`;
  const words = `${atContext(metricWords(cost), context_tokens)}${unit}`;
  return { label: less ? `← better: ${words}` : `better →: ${words}`, less };
}

function panelOf(
  points: readonly Point[],
  cost: string,
  y: QualityColumn,
  limit: Limit | null,
  context_tokens: number | undefined,
): Panel {
  const up = isShare(y.metric as QualityMetric);
  const { label, less } = costLabel(cost, context_tokens);
  const what = y.paired
    ? up ? `${y.metric} less the baseline's` : `relative rise of ${y.metric}, %`
    : y.metric;
  return (width) => {
    const options = (labels: readonly Plot.Markish[]): Plot.PlotOptions => ({
      ...MARGIN,
      height: HEIGHT,
      x: {
        ...{ label, labelArrow: "none", nice: true, grid: true, zero: false },
        ...{ insetLeft: 14, insetRight: 22, ticks: width / 80 },
      },
      y: {
        label: up ? `↑ better: ${what}` : `↓ better: ${what}`,
        ...{ labelArrow: "none", nice: true, grid: true, ticks: 6 },
      },
      r: { range: [2, 8] },
      marks: [
        limit === null ? null : Plot.ruleY([limit.at], { stroke: ALARM, strokeDasharray: "5,4" }),
        limit === null ? null : Plot.text([limit.text], {
          ...{ y: limit.at, frameAnchor: "right", dy: -ABOVE, fill: ALARM, fontSize: 10 },
        }),
        Plot.line(staircase(points, up, less), {
          ...{ x: "x", y: "y", curve: "step-after", stroke: RULE, strokeWidth: 1.5 },
        }),
        ...pointMarks(points),
        ...labels,
      ],
    });
    return options(labelMarks(points, options([]), width, limit));
  };
}

function legendItems(all: readonly Standing[], signs: Map<string, Sign>): LegendItem[] {
  const has = (kind: Standing["kind"]) => all.some((one) => one.kind === kind);
  const colour = QUIET;
  const shape = "circle";
  const methods = [...signs].map(([text, { colour, shape }]) => ({ text, colour, shape }));
  return [
    ...methods.slice(0, 12),
    ...methods.length > 12 ? [{ text: `${methods.length - 12} more`, shape, colour } as const] : [],
    ...has("baseline") ? [{ text: "baseline", shape: "star" } as const] : [],
    ...has("front") ? [{ text: "filled: on the front", shape, colour } as const] : [],
    ...has("dominated")
      ? [{ text: "dominated, or not in full", shape, colour, hollow: true } as const]
      : [],
    ...has("violated")
      ? [{ text: "breaks a limit", shape, colour, hollow: true, crossed: true } as const]
      : [],
    ...all.some((one) => one.recommended) ? [{ text: "recommended", shape: "ring" } as const] : [],
  ];
}

function notesOf(
  all: readonly Standing[],
  left: number,
  because: string | null,
  paired: boolean,
): string[] {
  const chosen = all.find((one) => one.recommended);
  const why = because ?? chosen?.because ?? null;
  const bare = all.filter(({ partial, quality: { low, high } }) => partial && low === high);
  const off = all.filter(({ kind }) => kind === "dominated" || kind === "violated").length;
  return [
    ...chosen === undefined || why === null ? [] : [`${chosen.name} is recommended: ${why}`],
    ...off <= MOST_POINTS
      ? []
      : [`The ${counted(off, "trial")} off the front are drawn as hollow bins, larger for more.`],
    ...left === 0
      ? []
      : [`${counted(left, "trial")} without a measured quality, or not completed, not drawn.`],
    ...all.some(({ quality: { low, high } }) => high > low)
      ? [`Bars are 95 % intervals${paired ? "; differences are paired, sample by sample" : ""}.`]
      : [],
    ...bare.length === 0 ? [] : [
      `Asked part of the samples alone, so that quality has no bar: ${
        bare.length > 4 ? counted(bare.length, "trial") : bare.map(({ name }) => name).join(", ")
      }.`,
    ],
  ];
}

/**
 * Quality over each cost, a panel a cost, up to six. A filled point is on the front of all objectives
 * together, so it may lie under one panel's staircase. Rows: one a trial, as `study.trials()` and
 * `SELECT * FROM leaderboard_wide` give them; with accuracy_difference and its ends the quality is
 * drawn as the paired difference to the baseline.
 */
export function pareto(rows: readonly object[], options?: ParetoOptions): string {
  const settled = readOptions("pareto", Options, options);
  const metric = settled.quality ?? settled.objectives?.find((one) => one === "perplexity") ??
    (rows.some((row) => "accuracy" in row) ? "accuracy" : "perplexity");
  const y = qualityColumn(rows, metric);
  const asked = settled.objectives?.filter((one) => one !== "accuracy" && one !== "perplexity")
    .map((one) =>
      one === "latency_ms" && rows.some((r) => "latency_ratio" in r) ? "latency_ratio" : one
    );
  const all = standings(rows, y, asked ?? COSTS, settled.recommended ?? null);
  const shown = (asked ?? COSTS.slice(0, 2))
    .filter((cost) => all.some((one) => one.costs[cost] !== undefined)).slice(0, MOST_PANELS);
  const signs = signsOf(all.filter(({ kind }) => kind !== "baseline").map((one) => one.methods));
  const context_tokens = settled.context_tokens ?? undefined;
  const limit = limitOf(y, settled.allowed_drop ?? null, all);
  const front = all.filter(({ kind }) => kind === "front");
  const best = all.filter((one) => one.recommended).map(({ name }) => name);
  return drawFigure({
    title: "Pareto front",
    ...(settled.subtitle === undefined ? {} : { subtitle: settled.subtitle }),
    description: shown.length === 0
      ? "Nothing is drawn: no row has both a quality and a cost. They come with the first trial that a " +
        "study completes; SELECT * FROM leaderboard_wide lists them."
      : `${counted(all.length, "trial")}, ${front.length} on the front` +
        `${front.length === 0 ? "" : `: ${listed(front.map(({ name }) => name), 8)}`}. ` +
        (best.length === 0
          ? "None is marked as recommended."
          : `${listed(best, 8)} ${best.length === 1 ? "is" : "are"} recommended.`),
    legend: shown.length === 0 ? [] : legendItems(all, signs),
    notes: shown.length === 0
      ? []
      : notesOf(all, rows.length - all.length, settled.because ?? null, y.paired),
    panels: shown.map((cost) =>
      panelOf(pointsOf(all, cost, signs), cost, y, limit, context_tokens)
    ),
    columns: 3,
    panelWidth: 330,
  }, settled);
}
