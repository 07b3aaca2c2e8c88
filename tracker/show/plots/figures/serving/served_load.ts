import * as Plot from "@observablehq/plot";
import { INK, PAPER, type Shape, signsOf } from "../../ground/colours.ts";
import { drawFigure, type Panel } from "../../ground/frame.ts";
import { FigureOptions, readOptions } from "../../ground/options.ts";
import { numeric, readRows, text } from "../../ground/read_rows.ts";
import { counted } from "../../../view/number_text.ts";

export type ServedLoadOptions = FigureOptions;

const COLUMNS = {
  figure: "servedLoad",
  sql: "SELECT * FROM loads",
  required: {
    ...{ server: text, load: text, level: numeric, output_tokens_per_second: numeric },
    ...{ first_token_p50_ms: numeric, first_token_p95_ms: numeric },
    ...{ between_tokens_p50_ms: numeric, between_tokens_p95_ms: numeric },
  },
  optional: { model: text },
};

const HEIGHT = 260;
const MARGIN = { marginLeft: 54, marginRight: 30, marginTop: 30, marginBottom: 40 };

interface Point {
  readonly name: string;
  readonly level: number;
  readonly throughput: number;
  readonly median: number;
  readonly high: number;
  readonly colour: string;
  readonly shape: Shape;
}

function panelOf(points: readonly Point[], words: string): Panel {
  return () => {
    const at = { x: "throughput", y: "median" } as const;
    return {
      ...MARGIN,
      height: HEIGHT,
      x: {
        ...{
          label: "tokens written a second",
          labelArrow: "none",
          grid: true,
          nice: true,
          ticks: 5,
        },
        domain: [0, Math.max(...points.map(({ throughput }) => throughput))],
      },
      y: { label: `↓ better: ${words}, ms`, labelArrow: "none", grid: true, zero: true, ticks: 5 },
      marks: [
        Plot.line(points, { ...at, z: "name", stroke: "colour", strokeWidth: 1.4 }),
        Plot.ruleX(points, { x: "throughput", y1: "median", y2: "high", stroke: "colour" }),
        Plot.dot(points, {
          ...{ ...at, symbol: "shape", r: 4.5, fill: "colour", stroke: PAPER, strokeWidth: 0.8 },
        }),
        Plot.text(points, {
          ...{ ...at, text: (d: Point) => String(d.level), dx: 9, dy: -8 },
          ...{ fill: INK, fontSize: 10, textAnchor: "start" },
        }),
      ],
    };
  };
}

/**
 * How long a served model's answers take over what it writes, a line a server and a point a load: medians,
 * up to the 95th percentile. Rows: those of `loads`.
 */
export function servedLoad(rows: readonly object[], options?: ServedLoadOptions): string {
  const settled = readOptions("servedLoad", FigureOptions, options);
  const all = readRows(rows, COLUMNS);
  const signs = signsOf(all.map(({ server }) => server ?? "–"));
  const points = (median: (row: typeof all[number]) => [number | null, number | null]) =>
    all.flatMap((row): Point[] => {
      const [value, high] = median(row);
      const { level, output_tokens_per_second: throughput } = row;
      const known = value !== null && value >= 0 && level !== null && throughput !== null &&
        throughput >= 0;
      if (!known) return [];
      const name = row.server ?? "–";
      const own = { name, level, throughput, median: value, ...signs.get(name)! };
      return [{ ...own, high: Math.max(high ?? value, value) }];
    }).toSorted((a, b) => a.level - b.level);
  const panels = [
    {
      words: "time to the first token",
      points: points((row) => [row.first_token_p50_ms, row.first_token_p95_ms]),
    },
    {
      words: "time between tokens",
      points: points((row) => [row.between_tokens_p50_ms, row.between_tokens_p95_ms]),
    },
  ].filter((panel) => panel.points.length > 0);
  const load = all[0]?.load === "rate" ? "requests a second" : "requests at a time";
  return drawFigure({
    title: "A served model under load",
    subtitle: panels.length === 0 ? "" : "medians, up to the 95th percentile",
    description: panels.length === 0
      ? `Nothing is drawn: no load was measured. ${COLUMNS.sql} gives the rows of \`pare load\`.`
      : `${counted(signs.size, "server")} under ${counted(all.length, "load")}.`,
    legend: panels.length === 0
      ? []
      : [...signs].map(([text, sign]) => ({ text: text.replace(/^https?:\/\//, ""), ...sign })),
    notes: panels.length === 0 ? [] : [`Numbers beside the points: ${load}.`],
    panels: panels.map(({ points, words }) => panelOf(points, words)),
    columns: 2,
  }, settled);
}
