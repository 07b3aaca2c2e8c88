import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { counted, number } from "../../view/number_text.ts";
import { heat } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";

const Options = FigureOptions.extend({
  scorer: z.string().optional().describe("such as kl; default: the first of the rows"),
});
export type LayerOptions = z.input<typeof Options>;

const SENSITIVITY = {
  figure: "layerSensitivity",
  sql: "SELECT * FROM layer_sensitivity",
  required: { layer: text, value: numeric },
  optional: {
    ...{ layer_index: numeric, format: text, method: text, scorer: text, metric: text, unit: text },
    trial_id: text,
  },
};

const MIX = {
  figure: "layerMix",
  sql: "SELECT * FROM layer_mix",
  required: { layer: text, format: text },
  optional: { layer_index: numeric, trial_id: text, weight_bits: numeric },
};

const LOST_COSINE = "1 − cosine to the parent";

interface Cell {
  /** Column: a block of the model, or a format. */
  readonly x: string;
  readonly y: string;
  readonly fill: string;
  readonly ink: string;
  readonly said: string;
  readonly title: string;
}

/** Of layers that stand in no block. */
const OTHER = "–";

/** `model.layers.12.mlp.up_proj` as its block and its part. */
function placeOf(layer: string): { block: string; part: string } {
  const found = /^(.*?\.)?(\d+)\.(.+)$/.exec(layer);
  return found === null
    ? { block: OTHER, part: layer.split(".").at(-1)! }
    : { block: found[2]!, part: found[3]! };
}

const ROW = 20;
/** Cells beyond which none says its figure when pointed at: the file would be mostly that. */
const MOST_TITLES = 3000;

function panelOf(
  heading: string,
  cells: readonly Cell[],
  xs: readonly string[],
  ys: readonly string[],
): Panel {
  return (width) => {
    const left = Math.min(140, width * 0.36);
    const each = (width - left - 10) / xs.length;
    const every = Math.ceil(22 / each);
    const at = { x: "x", y: "y" } as const;
    return {
      height: 78 + ROW * ys.length,
      marginLeft: left,
      marginRight: 10,
      marginTop: 36,
      marginBottom: 40,
      x: {
        ...{ domain: [...xs], label: "block →", labelArrow: "none", tickSize: 0, padding: 0.04 },
        ticks: xs.filter((_, index) => index % every === 0),
      },
      y: {
        ...{ domain: [...ys], label: null, tickSize: 0, padding: 0.06 },
        tickFormat: (part: string) => shorten(part, left - 10, 11),
      },
      marks: [
        Plot.cell(cells, {
          ...{ ...at, fill: "fill" },
          ...cells.length > MOST_TITLES ? {} : { title: "title" },
        }),
        each < 16 ? null : Plot.text(cells, { ...at, text: "said", fill: "ink", fontSize: 10 }),
        Plot.text([heading], {
          ...{ frameAnchor: "top-left", dx: -left + 10, dy: -24, fontSize: 12, fontWeight: "bold" },
        }),
      ],
    };
  };
}

/** Blocks in their order, parts in the order of the first block that has them. */
function axes(rows: readonly { layer: string | null }[]) {
  const places = rows.map(({ layer }) => placeOf(layer ?? "–"));
  const blocks = [...new Set(places.map(({ block }) => block))]
    .toSorted((a, b) => (a === OTHER ? 1 : 0) - (b === OTHER ? 1 : 0) || Number(a) - Number(b));
  return { blocks, parts: [...new Set(places.map(({ part }) => part))].sort() };
}

/** By the most; each cell darker for more, on a logarithmic scale where the values span decades. */
function sensitivityCells(rows: readonly { layer: string | null; value: number | null }[]) {
  const values = rows.flatMap(({ value }) => value ?? []);
  const [low, high] = values.reduce(
    ([a, b], v) => [Math.min(a, v), Math.max(b, v)],
    [Infinity, -Infinity],
  );
  const log = low > 0 && high / low > 30;
  const share = (value: number) =>
    high === low
      ? 0.5
      : log
      ? Math.log(value / low) / Math.log(high / low)
      : (value - low) / (high - low);
  const cells = rows.flatMap(({ layer, value }): Cell[] => {
    if (value === null) return [];
    const { block, part } = placeOf(layer ?? "–");
    const title = `${layer}: ${number(value)}`;
    return [{ x: block, y: part, ...heat(share(value)), said: "", title }];
  });
  return { cells, low, high, log };
}

/**
 * How much each layer loses in each format, a panel a format: blocks across, parts down. Rows:
 * `SELECT * FROM layer_sensitivity`; those of `artifact_figures` go in too.
 */
export function layerSensitivity(rows: readonly object[], options?: LayerOptions): string {
  const settled = readOptions("layerSensitivity", Options, options);
  const all = readRows(rows, SENSITIVITY).filter((one) => one.layer !== null && one.value !== null)
    .map((one) => ({
      ...one,
      scorer: one.scorer ?? (one.metric === "cosine" ? LOST_COSINE : one.metric) ?? "value",
      // A cosine is better when larger, the scorers are worse: it is drawn as what lacks to 1.
      value: one.metric === "cosine" ? Math.max(0, 1 - one.value!) : one.value,
      format: one.format ?? one.method ?? "–",
    }));
  const scorer = settled.scorer ?? all[0]?.scorer ?? "";
  const own = all.filter((one) => one.scorer === scorer);
  const formats = [...Map.groupBy(own, ({ format }) => format)].slice(0, 6);
  const { cells, low, high, log } = sensitivityCells(own);
  const worst = own.toSorted((a, b) => b.value! - a.value!)[0];
  const { blocks, parts } = axes(own);
  const byFormat = new Map(own.map((one, index) => [one, cells[index]!]));
  const unit = worst?.unit === undefined || worst.unit === null || worst.unit === "1"
    ? ""
    : ` ${worst.unit}`;
  return drawFigure({
    title: "Sensitivity by layer",
    subtitle: own.length === 0 ? "" : `${scorer}${unit}`,
    description: worst === undefined
      ? `Nothing is drawn: no layer has a value${
        scorer === "" ? "" : ` by ${scorer}`
      }. Rows come from ` +
        "SELECT * FROM layer_sensitivity once the layers of a model are scored."
      : `${counted(own.length, "value")} of ${scorer}, from ${number(low)} to ${
        number(high)
      }; the most ` +
        `is ${worst.layer} in ${worst.format}.`,
    legend: worst === undefined ? [] : [0, 0.5, 1].map((share) => ({
      text: number(log ? low * (high / low) ** share : low + (high - low) * share),
      shape: "square",
      colour: heat(share).fill,
    })),
    notes: worst === undefined ? [] : [
      `Darker (on black: lighter) is more${log ? ", on a logarithmic scale" : ""}.`,
    ],
    panels: formats.map(([format, found]) =>
      panelOf(format, found.map((one) => byFormat.get(one)!), blocks, parts)
    ),
    columns: 2,
    panelWidth: 380,
  }, settled);
}

type MixRow = { readonly format?: string | null; readonly weight_bits?: number | null };

/** Formats, the fewest bits first: a layer's, or where none are told by the number in the name. */
function inOrder(rows: readonly MixRow[]): string[] {
  const rates = new Map(rows.map(({ format, weight_bits }) => [format!, weight_bits ?? null]));
  return [...rates.keys()].toSorted((a, b) =>
    (rates.get(a) ?? 0) - (rates.get(b) ?? 0) || a.localeCompare(b, "en", { numeric: true })
  );
}

/** The format that a mix chose for each layer, a panel a trial. Rows: `SELECT * FROM layer_mix`. */
export function layerMix(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("layerMix", FigureOptions, options);
  const all = readRows(rows, MIX).filter((one) => one.layer !== null && one.format !== null);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const formats = inOrder(all);
  const step = (format: string) =>
    formats.length === 1 ? 0.5 : formats.indexOf(format) / (formats.length - 1);
  const trials = [...Map.groupBy(all, ({ trial_id }) => name(trial_id))];
  const { blocks, parts } = axes(all);
  const panels = trials.slice(0, 6).map(([trial, found]) => {
    const cells = found.map(({ layer, format, weight_bits: rate }): Cell => {
      const { block, part } = placeOf(layer!);
      // A code's name has other numbers than its bits.
      const said = /^\d+/.exec(format!)?.[0] ?? rate?.toFixed(1) ?? format!.slice(0, 2);
      return { x: block, y: part, ...heat(step(format!)), said, title: `${layer}: ${format}` };
    });
    return panelOf(trial, cells, blocks, parts);
  });
  return drawFigure({
    title: "Mix of formats by layer",
    description: panels.length === 0
      ? "Nothing is drawn: no trial chose a format for each layer. A trial whose recipe mixes formats " +
        "fills it; SELECT * FROM layer_mix gives the rows."
      : `${counted(trials.length, "trial")}; formats ${formats.join(", ")}.`,
    legend: formats.map((text) => ({ text, shape: "square", colour: heat(step(text)).fill })),
    notes: trials.length > 6 ? [`Drawn are the first 6 of ${trials.length} trials.`] : [],
    panels,
    columns: 2,
    panelWidth: 380,
  }, settled);
}
