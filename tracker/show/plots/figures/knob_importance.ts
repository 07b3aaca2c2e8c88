import { FULL } from "../../../../core/mod.ts";
import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { counted, number } from "../../view/number_text.ts";
import { hue, INK } from "../ground/colours.ts";
import { barPanel, fewest } from "../ground/bars.ts";
import { drawFigure } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text } from "../ground/read_rows.ts";

const Options = FigureOptions.extend({
  metric: z.string().default("accuracy"),
  fidelity: z.string().default(FULL),
});
export type KnobOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "knobImportance",
  sql: "SELECT * FROM knob_importance",
  required: { method: text, knob: text, metric: text, importance: numeric },
  optional: {
    ...{ fidelity: text, pairs: numeric, importance_low: numeric, importance_high: numeric },
    effect: numeric,
  },
};

/**
 * How far a knob moves a figure while all others are held, with the 95 % interval, most first. Rows:
 * `SELECT * FROM knob_importance`.
 */
export function knobImportance(rows: readonly object[], options?: KnobOptions): string {
  const settled = readOptions("knobImportance", Options, options);
  const all = readRows(rows, COLUMNS).flatMap((row) =>
    row.metric !== settled.metric || row.importance === null ||
      row.fidelity !== null && row.fidelity !== settled.fidelity
      ? []
      : [{ ...row, importance: row.importance, row: `${row.method} ${row.knob}` }]
  ).toSorted((a, b) => b.importance - a.importance);
  const { shown, notes } = fewest(all, "knobs");
  const bars = shown.map(({ row, importance }) => ({
    ...{ row, from: 0, to: importance, fill: hue(0) },
    title: `${row}: ${number(importance)}`,
  }));
  const labels = shown.map(({ row, importance, importance_high, pairs }) => ({
    ...{ row, at: Math.max(importance, importance_high ?? 0) },
    text: `${number(importance)}${pairs === null ? "" : `, ${counted(pairs, "pair")}`}`,
  }));
  const intervals = ({ y }: { y: string }) => [
    Plot.link(shown.filter((one) => one.importance_low !== null && one.importance_high !== null), {
      ...{ y, x1: "importance_low", x2: "importance_high", stroke: INK, strokeWidth: 1.5 },
    }),
  ];
  const [first] = all;
  return drawFigure({
    title: `Which knobs move ${settled.metric}`,
    subtitle: all.length === 0
      ? ""
      : "mean difference between trials that differ in this knob alone",
    description: first === undefined
      ? `Nothing is drawn: no two trials with ${settled.metric} on the ${settled.fidelity} evaluation ` +
        "differ in one knob alone. More trials fill it; rows come from SELECT * FROM knob_importance."
      : `Of ${all.length} knobs ${first.row} moves ${settled.metric} most: by ${
        number(first.importance)
      } on average.`,
    notes: [
      ...notes,
      ...all.length === 0 ? [] : ["Lines are 95 % intervals, where there are two pairs."],
    ],
    panels: all.length === 0 ? [] : [barPanel(
      shown.map(({ row }) => row),
      bars,
      labels,
      `change of ${settled.metric} →`,
      intervals,
    )],
  }, settled);
}
