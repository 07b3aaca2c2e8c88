import * as Plot from "@observablehq/plot";
import { FULL } from "../../../../../core/mod.ts";
import { heat } from "../../ground/colours.ts";
import { drawFigure, type Panel } from "../../ground/frame.ts";
import { FigureOptions, readOptions } from "../../ground/options.ts";
import { numeric, readRows, text } from "../../ground/read_rows.ts";
import { shorten } from "../../ground/words.ts";
import { counted } from "../../../view/number_text.ts";

export type KeptPlacesOptions = FigureOptions;

const COLUMNS = {
  figure: "keptPlaces",
  sql: `SELECT * FROM context_places WHERE fidelity = '${FULL}'`,
  required: { readable_id: text, layer_index: numeric, part: numeric, part_kept: numeric },
  optional: { task: text },
};
/** Parts of a context, as `PARTS` of the Python half's `cache/kept.py`. */
const PARTS = 16;
/** Panels that are drawn; more are said. */
const MOST_PANELS = 12;
/** A layer's pixels, and those of all layers of a deep model. */
const ROW = { most: 14, all: 260 };

interface Cell {
  readonly layer: number;
  readonly from: number;
  readonly to: number;
  readonly title: string;
  readonly fill: string;
}

function panelOf(name: string, cells: readonly Cell[], layers: number): Panel {
  return (width) => ({
    height: 84 + Math.min(ROW.most * layers, ROW.all),
    ...{ marginLeft: 54, marginRight: 12, marginTop: 40, marginBottom: 40 },
    x: {
      ...{ domain: [0, 1], ticks: [0, 0.5, 1], labelArrow: "none", label: "place in the context" },
      tickFormat: (place: number) => place === 0 ? "first" : place === 1 ? "last" : "half",
    },
    y: {
      ...{ domain: [layers - 0.5, -0.5], ticks: Math.min(6, layers), tickSize: 0 },
      ...{ label: null, tickFormat: (layer: number) => `layer ${layer}` },
    },
    marks: [
      Plot.rect(cells, {
        ...{ x1: "from", x2: "to", y1: (cell: Cell) => cell.layer - 0.5, title: "title" },
        ...{ y2: (cell: Cell) => cell.layer + 0.5, fill: "fill" },
      }),
      Plot.text([shorten(name, width - 20, 12)], {
        ...{ frameAnchor: "top-left", dx: -46, dy: -24, fontSize: 12, fontWeight: "bold" },
      }),
    ],
  });
}

/**
 * Where in a context each layer keeps tokens, a panel a trial and benchmark: layers down, the context across,
 * darker for more. Rows: those of `context_places`.
 */
export function keptPlaces(rows: readonly object[], options?: KeptPlacesOptions): string {
  const settled = readOptions("keptPlaces", FigureOptions, options);
  const found = readRows(rows, COLUMNS).flatMap(
    ({ readable_id, task, layer_index, part, part_kept }) => {
      if (layer_index === null || part === null || part_kept === null) return [];
      const panel = `${readable_id ?? "–"}, ${task ?? "–"}`;
      const cell: Cell = {
        ...{ layer: layer_index, from: part / PARTS, to: (part + 1) / PARTS },
        title: `layer ${layer_index}, sixteenth ${part + 1}: ${Math.round(100 * part_kept)} %`,
        fill: heat(part_kept).fill,
      };
      return [{ panel, ...cell }];
    },
  );
  const layers = 1 + found.reduce((most, { layer }) => Math.max(most, layer), 0);
  const panels = [...Map.groupBy(found, ({ panel }) => panel)];
  return drawFigure({
    title: "What each layer keeps of a context",
    description: panels.length === 0
      ? `Nothing is drawn: no trial let go of tokens after a context. ${COLUMNS.sql} gives the rows.`
      : `${counted(panels.length, "trial and benchmark", "trials and benchmarks")} of ${
        counted(layers, "layer")
      }; shares of tokens that stay, by their place.`,
    legend: panels.length === 0 ? [] : [0, 0.5, 1].map((share) => ({
      ...{ text: `${share === 0 ? "none" : share === 1 ? "all" : "half"} stay` },
      ...{ shape: "square" as const, colour: heat(share).fill },
    })),
    notes: panels.length === 0 ? [] : [
      "Means over the heads of a layer and the first samples of a benchmark.",
      ...panels.length > MOST_PANELS
        ? [`The first ${MOST_PANELS} of ${panels.length} are drawn.`]
        : [],
    ],
    panels: panels.slice(0, MOST_PANELS).map(([name, cells]) => panelOf(name, cells, layers)),
    columns: 3,
    panelWidth: 200,
  }, settled);
}
