import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { bytes, counted } from "../../view/number_text.ts";
import { hue, INK, PAPER, RULE } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";

const Options = FigureOptions.extend({
  front: z.array(z.string()).default([]).describe("artifact ids to mark"),
  labels: z.record(z.string(), z.string()).default({}).describe("artifact id to its trial"),
});
export type LineageOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "lineage",
  sql: "SELECT * FROM lineage",
  required: { artifact_id: text, parent_id: text, recipe: text, size_bytes: numeric },
  optional: {},
};

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly said: string;
  readonly full: string;
  readonly marked: boolean;
  readonly row: number;
  readonly depth: number;
}

type Row = ReturnType<typeof readRows<typeof COLUMNS.required, typeof COLUMNS.optional>>[number];

/** Each artifact below its parent, children in the order of the rows; one in a circle is left out. */
function laidOut(rows: readonly Row[], options: z.output<typeof Options>): Node[] {
  const ids = new Set(rows.map((row) => row.artifact_id));
  const children = Map.groupBy(rows, ({ parent_id }) => ids.has(parent_id) ? parent_id : null);
  const nodes: Node[] = [];
  const walk = (row: Row, depth: number, parent: Row | null) => {
    const id = row.artifact_id ?? "–";
    const own = (row.recipe ?? "–").split(" + ").at(-1)!;
    const trial = options.labels[id];
    nodes.push({
      ...{ id, parent: parent?.artifact_id ?? null, depth, row: nodes.length },
      said: `${trial === undefined ? "" : `${trial}: `}${own}, ${bytes(row.size_bytes)}`,
      full: `${id}\n${row.recipe}\n${bytes(row.size_bytes)}`,
      marked: options.front.includes(id),
    });
    for (const child of children.get(row.artifact_id) ?? []) walk(child, depth + 1, row);
  };
  for (const root of children.get(null) ?? []) walk(root, 0, null);
  return nodes;
}

const ROW = 24;
const MOST_ROWS = 80;

function panelOf(nodes: readonly Node[]): Panel {
  return (width) => {
    const deepest = Math.max(1, ...nodes.map(({ depth }) => depth));
    const indent = Math.min(34, (width - 180) / deepest);
    const x = ({ depth }: { depth: number }) => 16 + depth * indent;
    const y = ({ row }: { row: number }) => 14 + row * ROW;
    const by = new Map(nodes.map((node) => [node.id, node]));
    const links = nodes.flatMap((node) => {
      const parent = node.parent === null ? undefined : by.get(node.parent);
      return parent === undefined ? [] : [{ node, parent }];
    });
    const elbow = links.flatMap(({ node, parent }) => [
      { x: x(parent), y: y(parent), z: node.id },
      { x: x(parent), y: y(node), z: node.id },
      { x: x(node), y: y(node), z: node.id },
    ]);
    const title = (d: Node) => d.full;
    return {
      height: 24 + ROW * nodes.length,
      margin: 0,
      x: { type: "identity", axis: null },
      y: { type: "identity", axis: null },
      marks: [
        Plot.line(elbow, { x: "x", y: "y", z: "z", stroke: RULE, strokeWidth: 1.5 }),
        Plot.dot(nodes, {
          ...{ x, y, r: 5, stroke: hue(0), strokeWidth: 1.6, title },
          fill: (d: Node) => d.marked ? hue(0) : PAPER,
        }),
        Plot.text(nodes, {
          ...{ x, y, dx: 11, textAnchor: "start", fontSize: 11, fill: INK, title },
          text: (d: Node) => shorten(d.said, width - x(d) - 20, 11),
        }),
      ],
    };
  };
}

/** What every checkpoint was made from: each below its parent. Rows: `SELECT * FROM lineage`. */
export function lineage(rows: readonly object[], options?: LineageOptions): string {
  const settled = readOptions("lineage", Options, options);
  const nodes = laidOut(readRows(rows, COLUMNS), settled);
  const shown = nodes.slice(0, MOST_ROWS);
  const marked = nodes.filter((one) => one.marked).length;
  const deepest = Math.max(0, ...nodes.map(({ depth }) => depth));
  return drawFigure({
    title: "Where every checkpoint comes from",
    description: nodes.length === 0
      ? "Nothing is drawn: there is no artifact. The first trial that writes a checkpoint fills it; " +
        "SELECT * FROM lineage gives the rows."
      : `${counted(nodes.length, "artifact")}, at most ${
        counted(deepest, "action")
      } from an original.`,
    legend: marked === 0 ? [] : [{ text: "filled: on the front", shape: "circle", colour: hue(0) }],
    notes: shown.length < nodes.length
      ? [
        `Drawn are the first ${shown.length} of ${nodes.length.toLocaleString("en-US")} artifacts.`,
      ]
      : [],
    panels: nodes.length === 0 ? [] : [panelOf(shown)],
  }, settled);
}
