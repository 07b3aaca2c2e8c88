import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { signsOf } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { thinned } from "../ground/thin.ts";
import { counted } from "../../view/number_text.ts";

const Options = FigureOptions.extend({
  metrics: z.array(z.string()).optional().describe("default: loss and held_out_loss, else all"),
  log: z.boolean().default(false).describe("a logarithmic axis"),
});
export type LossOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "lossCurves",
  sql: "SELECT * FROM metric_points",
  required: { trial_id: text, metric: text, step: numeric, value: numeric },
  optional: { action_index: numeric },
};

interface Point {
  readonly series: string;
  readonly step: number;
  readonly value: number;
}

const USUAL = ["loss", "held_out_loss"];
const MOST_PANELS = 6;
const MOST_SERIES = 12;
const MOST_POINTS = 500;

function panelOf(
  metric: string,
  points: readonly Point[],
  signs: ReturnType<typeof signsOf>,
  log: boolean,
): Panel {
  const lines = [...Map.groupBy(points, ({ series }) => series)];
  const drawn = lines.flatMap(([series, line]) =>
    thinned(line.toSorted((a, b) => a.step - b.step), MOST_POINTS, ({ value }) => value)
      .map((one) => ({ ...one, ...signs.get(series)! }))
  );
  const ends = lines.map(([series]) => drawn.findLast((one) => one.series === series)!);
  return (width) => ({
    height: 270,
    marginLeft: 52,
    marginRight: 18,
    marginTop: 30,
    marginBottom: 40,
    x: { label: "step →", labelArrow: "none", ticks: width / 90, nice: true },
    y: {
      ...{ label: metric.replaceAll("_", " "), labelArrow: "none", grid: true, nice: true },
      ...{ ticks: 5, type: log ? "log" : "linear" },
    },
    marks: [
      Plot.line(drawn, { x: "step", y: "value", z: "series", stroke: "colour", strokeWidth: 1.8 }),
      Plot.dot(ends, { x: "step", y: "value", symbol: "shape", fill: "colour", r: 4.5 }),
    ],
  });
}

/**
 * What trainings logged, over their steps: a panel per metric, a line per trial and action, whose shape stands
 * at its end. Rows: `SELECT * FROM metric_points`.
 */
export function lossCurves(rows: readonly object[], options?: LossOptions): string {
  const settled = readOptions("lossCurves", Options, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const has = [...new Set(all.map(({ metric }) => metric ?? "–"))];
  const usual = USUAL.filter((metric) => has.includes(metric));
  const metrics = settled.metrics ?? (usual.length > 0 ? usual : has.sort());
  const points = all.flatMap((row) => {
    const { step, value } = row;
    if (!metrics.includes(row.metric ?? "–") || step === null || value === null) return [];
    if (settled.log && value <= 0) return [];
    const series = name(row.trial_id) +
      (row.action_index === null ? "" : `, action ${row.action_index + 1}`);
    return [{ series, step, value, metric: row.metric ?? "–" }];
  });
  const series = [...new Set(points.map((one) => one.series))].sort();
  const shown = series.slice(0, MOST_SERIES);
  const signs = signsOf(shown);
  const drawn = metrics.flatMap((metric) => {
    const own = points.filter((one) => one.metric === metric && signs.has(one.series));
    return own.length === 0 ? [] : [{ metric, own }];
  }).slice(0, MOST_PANELS);
  const left = rows.length - points.length;
  return drawFigure({
    title: "Loss curves",
    description: drawn.length === 0
      ? "Nothing is drawn: no point has a step and a value. Methods that train log them, as does " +
        "run.log of your own code; SELECT * FROM metric_points gives them."
      : `${counted(series.length, "line")} of ${drawn.map(({ metric }) => metric).join(", ")}.`,
    legend: drawn.length === 0
      ? []
      : [...signs].map(([text, { colour, shape }]) => ({ text, colour, shape })),
    notes: drawn.length === 0 ? [] : [
      ...points.length > MOST_POINTS
        ? [`Of a line with more than ${MOST_POINTS} points the least and the most of each stretch.`]
        : [],
      ...left > 0
        ? [`${counted(left, "point")} of other metrics or without a finite value not drawn.`]
        : [],
      ...shown.length < series.length
        ? [`Drawn are ${shown.length} of ${series.length} lines.`]
        : [],
    ],
    panels: drawn.map(({ metric, own }) => panelOf(metric, own, signs, settled.log)),
    panelWidth: 340,
  }, settled);
}
