import { FULL } from "../../../../core/mod.ts";
import * as Plot from "@observablehq/plot";
import { hue, INK } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { readOptions } from "../ground/options.ts";
import { FigureOptions } from "../ground/options.ts";
import { numeric, readRows, text } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";
import { counted } from "../../view/number_text.ts";
import { z } from "zod";
import type { KnobOptions } from "./knob_importance.ts";

const Options = FigureOptions.extend({
  metric: z.string().default("accuracy"),
  fidelity: z.string().default(FULL),
});

const COLUMNS = {
  figure: "knobEffects",
  sql: "SELECT * FROM knob_effects",
  required: { method: text, knob: text, knob_value: text, metric: text, n: numeric, mean: numeric },
  optional: {
    ...{ study_id: text, fidelity: text, direction: text, knob_number: numeric },
    ...{ minimum: numeric, maximum: numeric },
  },
};

interface Effect {
  readonly knob_value: string;
  readonly knob_number: number | null;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

const MOST_PANELS = 24;
const MOST_VALUES = 12;

function panelOf(title: string, effects: readonly Effect[], domain: [number, number]): Panel {
  return (width) => {
    const x = "knob_value";
    const each = (width - 70) / effects.length;
    return {
      height: 210,
      marginLeft: 54,
      marginRight: 12,
      marginTop: 34,
      marginBottom: 34,
      x: {
        ...{
          type: "point",
          domain: effects.map((one) => one.knob_value),
          padding: 0.5,
          label: null,
        },
        tickFormat: (value: string) => shorten(value, each - 2, 11),
      },
      y: { domain, nice: true, grid: true, label: null, ticks: 5 },
      marks: [
        Plot.link(effects, {
          x,
          y1: "low",
          y2: "high",
          stroke: hue(0),
          strokeWidth: 3,
          strokeOpacity: 0.35,
        }),
        Plot.dot(effects, {
          ...{
            x,
            y: "mean",
            r: 5,
            fill: hue(0),
            title: (d: Effect) => `${d.knob_value}: ${d.mean}`,
          },
        }),
        Plot.text(effects, { x, y: "high", dy: -9, text: (d: Effect) => `n ${d.n}`, fontSize: 10 }),
        Plot.text([shorten(title, width - 16, 12)], {
          ...{
            frameAnchor: "top-left",
            dx: -46,
            dy: -26,
            fontSize: 12,
            fontWeight: "bold",
            fill: INK,
          },
        }),
      ],
    };
  };
}

/**
 * Mean, least and most of a figure by every knob's value, a panel a knob with two values or more. Rows:
 * `SELECT * FROM knob_effects`. Other knobs vary beside it: `knobImportance` holds them.
 */
export function knobEffects(rows: readonly object[], options?: KnobOptions): string {
  const settled = readOptions("knobEffects", Options, options);
  const all = readRows(rows, COLUMNS).filter((row) =>
    row.metric === settled.metric && row.mean !== null &&
    (row.fidelity === null || row.fidelity === settled.fidelity)
  );
  const studies = new Set(all.map(({ study_id }) => study_id));
  const last = all.at(-1)?.study_id;
  const own = all.filter(({ study_id }) => study_id === last);
  const groups = [...Map.groupBy(own, ({ method, knob }) => `${method} ${knob}`)]
    .map(([title, found]) => {
      const effects = found.map((one): Effect => ({
        ...{ knob_value: one.knob_value ?? "–", knob_number: one.knob_number, n: one.n ?? 0 },
        ...{ mean: one.mean!, low: one.minimum ?? one.mean!, high: one.maximum ?? one.mean! },
      })).toSorted((a, b) =>
        (a.knob_number ?? 0) - (b.knob_number ?? 0) || (a.knob_value < b.knob_value ? -1 : 1)
      );
      return { title, effects };
    });
  const told = groups.filter(({ effects }) => effects.length > 1);
  const shown = told.slice(0, MOST_PANELS);
  const ends = shown.flatMap(({ effects }) => effects.flatMap(({ low, high }) => [low, high]));
  const [low, high] = ends.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [
    Infinity,
    -Infinity,
  ]);
  const room = (high - low || Math.abs(high) || 1) * 0.12;
  const way = all.find((row) => row.direction !== null)?.direction === "minimize"
    ? "lower"
    : "higher";
  return drawFigure({
    title: `${settled.metric} by knob`,
    subtitle: shown.length === 0
      ? ""
      : `${way} is better; the dot is the mean, the bar from least to most`,
    description: shown.length === 0
      ? `Nothing is drawn: no knob has ${settled.metric} of the ${settled.fidelity} evaluation at two ` +
        "values. More trials fill it; rows come from SELECT * FROM knob_effects."
      : `${counted(told.length, "knob")} tried at two values or more, of ${groups.length}.`,
    notes: shown.length === 0 ? [] : [
      "Other knobs vary beside the one that is drawn: what one does alone, knob_importance says.",
      ...shown.length < told.length ? [`Drawn are ${shown.length} of ${told.length} knobs.`] : [],
      ...studies.size > 1 ? [`Only the study ${last} is drawn, of ${studies.size}.`] : [],
      ...shown.some(({ effects }) => effects.length > MOST_VALUES)
        ? [`Of a knob with more values the first ${MOST_VALUES} are drawn.`]
        : [],
    ],
    panels: shown.map(({ title, effects }) =>
      panelOf(title, effects.slice(0, MOST_VALUES), [low - room, high + room])
    ),
    columns: 4,
    panelWidth: 185,
  }, settled);
}
