import * as Plot from "@observablehq/plot";
import { FULL } from "../../../../../core/mod.ts";
import { INK, PAPER, QUIET, type Shape, signsOf } from "../../ground/colours.ts";
import { drawFigure, type Panel } from "../../ground/frame.ts";
import { FigureOptions, readOptions } from "../../ground/options.ts";
import { numeric, readRows, text } from "../../ground/read_rows.ts";
import { shorten } from "../../ground/words.ts";
import { counted } from "../../../view/number_text.ts";

export type QualityByCacheOptions = FigureOptions;

const COLUMNS = {
  figure: "qualityByCache",
  sql: `SELECT * FROM context_caches WHERE fidelity = '${FULL}'`,
  required: { methods: text, task: text, metric: text, value: numeric, share_kept: numeric },
  optional: { standard_error: numeric, trial_id: text },
};

/** Figures that are drawn, the better end of each first. */
const DRAWN: Readonly<Record<string, { readonly words: string; readonly up: boolean }>> = {
  accuracy: { words: "accuracy", up: true },
  exact_match: { words: "exact match", up: true },
  f1: { words: "F1", up: true },
  rouge_l: { words: "ROUGE-L", up: true },
  edit_similarity: { words: "edit similarity", up: true },
  score: { words: "score", up: true },
  kl: { words: "KL to the full cache, nats per token", up: false },
};
const Z95 = 1.959963984540054;
const HEIGHT = 240;
const MARGIN = { marginLeft: 50, marginRight: 14, marginTop: 30, marginBottom: 40 };
const TICKS = [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1];
const BASELINE = "baseline";

interface Point {
  readonly name: string;
  readonly share: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly colour: string;
  readonly shape: Shape;
}

function panelOf(
  task: string,
  metric: string,
  points: readonly Point[],
  full: number | null,
): Panel {
  const { words, up } = DRAWN[metric]!;
  return (width) => {
    const shares = [...points.map(({ share }) => share), 1];
    const domain = [Math.min(...shares) / 1.2, 1.15];
    const ticks = TICKS.filter((tick) => tick >= domain[0]!);
    const at = { x: "share", y: "value" } as const;
    const label = `${up ? "↑" : "↓"} better: ${words}, ${task}`;
    return {
      ...MARGIN,
      height: HEIGHT,
      x: {
        ...{
          type: "log",
          domain,
          label: "share of the full cache that is kept",
          labelArrow: "none",
        },
        ...{ grid: true, ticks, tickFormat: (tick: number) => tick === 1 ? "1" : `1/${1 / tick}` },
      },
      y: {
        ...{ label: shorten(label, width - 30, 11), labelArrow: "none", grid: true },
        ...{ ticks: 5, nice: true },
      },
      marks: [
        full === null ? null : Plot.ruleY([full], { stroke: QUIET, strokeDasharray: "4 3" }),
        Plot.line(points, { ...at, z: "name", stroke: "colour", strokeWidth: 1.4 }),
        Plot.ruleX(points, { x: "share", y1: "low", y2: "high", stroke: "colour" }),
        Plot.dot(points, {
          ...{ ...at, symbol: "shape", r: 4.5, fill: "colour", stroke: PAPER, strokeWidth: 0.8 },
        }),
      ],
    };
  };
}

/**
 * Each figure of a benchmark over the share of the cache that is kept, a line a method, with 95 % intervals;
 * dashed: the full cache. Rows: those of `context_caches`.
 */
export function qualityByCache(rows: readonly object[], options?: QualityByCacheOptions): string {
  const settled = readOptions("qualityByCache", FigureOptions, options);
  const all = readRows(rows, COLUMNS).filter(({ metric, value, share_kept }) =>
    metric !== null && metric in DRAWN && value !== null && share_kept !== null && share_kept > 0
  );
  const cut = all.filter(({ methods }) => methods !== BASELINE);
  const signs = signsOf(cut.map(({ methods }) => methods ?? "–"));
  const panels = [...Map.groupBy(cut, ({ task, metric }) => `${task}\n${metric}`).values()]
    .map((own) => {
      const { task, metric } = own[0]!;
      const points = own.map((row): Point => {
        const name = row.methods ?? "–";
        const error = Z95 * (row.standard_error ?? 0);
        return {
          ...{ name, share: row.share_kept!, value: row.value!, ...signs.get(name)! },
          ...{ low: row.value! - error, high: row.value! + error },
        };
      }).toSorted((a, b) => a.share - b.share);
      const full = all.find((row) =>
        row.methods === BASELINE && row.task === task && row.metric === metric
      )?.value ?? null;
      return panelOf(task ?? "–", metric!, points, full);
    });
  return drawFigure({
    title: "Quality by what is kept of the cache",
    subtitle: panels.length === 0 ? "" : "by method, beside the full cache",
    description: panels.length === 0
      ? `Nothing is drawn: no trial cut its cache after a context. ${COLUMNS.sql} gives the rows.`
      : `${counted(signs.size, "method")} on ${counted(panels.length, "figure")} of benchmarks.`,
    legend: panels.length === 0 ? [] : [
      ...[...signs].map(([text, sign]) => ({ text, ...sign })),
      { text: "the full cache", shape: "dashes", colour: QUIET },
      { text: "95 % interval", shape: "line", colour: INK },
    ],
    notes: panels.length === 0 ? [] : ["Bytes are counted from the tensors that are kept."],
    panels,
    columns: 2,
  }, settled);
}
