import * as Plot from "@observablehq/plot";
import { FULL } from "../../../../../core/mod.ts";
import { heat } from "../../ground/colours.ts";
import { drawFigure, type Panel } from "../../ground/frame.ts";
import { FigureOptions, readOptions } from "../../ground/options.ts";
import { numeric, readRows, text } from "../../ground/read_rows.ts";
import { shorten } from "../../ground/words.ts";
import { counted } from "../../../view/number_text.ts";

export type NeedleMapOptions = FigureOptions;

const COLUMNS = {
  figure: "needleMap",
  sql:
    "SELECT t.readable_id, m.task, m.slice, m.value, m.n FROM measurements m JOIN trial_summary t " +
    "USING (study_id, trial_id) WHERE m.slice LIKE '% tokens depth %' AND " +
    `m.fidelity = '${FULL}' ORDER BY t.number`,
  required: { readable_id: text, task: text, slice: text, value: numeric },
  optional: { n: numeric },
};
/** What a slice of a needle's benchmark is called: its length, and the depth in percent. */
const SLICE = /^(\d+) tokens depth (\d+-\d+)$/;
const ROW = 26;
const MOST_PANELS = 24;

interface Cell {
  readonly length: string;
  readonly depth: string;
  readonly said: string;
  readonly title: string;
  readonly fill: string;
  readonly ink: string;
}

function panelOf(
  name: string,
  cells: readonly Cell[],
  lengths: readonly string[],
  depths: readonly string[],
): Panel {
  return (width) => ({
    ...{ height: 84 + ROW * depths.length, marginLeft: 58, marginRight: 10 },
    ...{ marginTop: 40, marginBottom: 40 },
    x: {
      ...{ domain: [...lengths], label: "tokens of the text", labelArrow: "none" },
      ...{ tickSize: 0, padding: 0.04 },
    },
    y: { domain: [...depths], label: "depth, %", labelArrow: "none", tickSize: 0, padding: 0.06 },
    marks: [
      Plot.cell(cells, { x: "length", y: "depth", fill: "fill", title: "title" }),
      Plot.text(cells, { x: "length", y: "depth", text: "said", fill: "ink", fontSize: 10 }),
      Plot.text([shorten(name, width - 20, 12)], {
        ...{ frameAnchor: "top-left", dx: -48, dy: -28, fontSize: 12, fontWeight: "bold" },
      }),
    ],
  });
}

/**
 * Which needles are found by the length of the text and the depth at which they stand, a panel a trial and
 * benchmark: darker for more. Rows: slices of RULER's needles and of `needle_rank`.
 */
export function needleMap(rows: readonly object[], options?: NeedleMapOptions): string {
  const settled = readOptions("needleMap", FigureOptions, options);
  const found = readRows(rows, COLUMNS).flatMap(({ readable_id, task, slice, value, n }) => {
    const [, length, depth] = SLICE.exec(slice ?? "") ?? [];
    if (length === undefined || value === null) return [];
    const said = value.toFixed(2).replace(/^0/, "").replace("1.00", "1");
    const title = `${said} of ${n ?? "–"} samples`;
    const panel = `${readable_id ?? "–"}, ${task ?? "–"}`;
    return [{ panel, length, depth: depth!, said, title, ...heat(value) }];
  });
  const number = (part: string) => Number(part.split("-")[0]);
  const sorted = (of: readonly string[]) => [...new Set(of)].sort((a, b) => number(a) - number(b));
  const lengths = sorted(found.map(({ length }) => length));
  const depths = sorted(found.map(({ depth }) => depth));
  const panels = [...Map.groupBy(found, ({ panel }) => panel)];
  return drawFigure({
    title: "Needles found, by length and depth",
    description: panels.length === 0
      ? `Nothing is drawn: no benchmark hides a needle at a depth. ${COLUMNS.sql} gives the rows.`
      : `${
        counted(panels.length, "trial and benchmark", "trials and benchmarks")
      }; shares of needles ` +
        "that are found.",
    legend: panels.length === 0 ? [] : [0, 0.5, 1].map((share) => ({
      ...{ text: share === 0 ? "none" : share === 1 ? "all" : "half", shape: "square" } as const,
      colour: heat(share).fill,
    })),
    notes: panels.length > MOST_PANELS
      ? [`The first ${MOST_PANELS} of ${panels.length} are drawn.`]
      : [],
    panels: panels.slice(0, MOST_PANELS)
      .map(([name, cells]) => panelOf(name, cells, lengths, depths)),
    columns: 3,
    panelWidth: 200,
  }, settled);
}
