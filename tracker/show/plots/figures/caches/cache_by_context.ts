import * as Plot from "@observablehq/plot";
import { FULL } from "../../../../../core/mod.ts";
import { INK, QUIET, type Shape, signsOf } from "../../ground/colours.ts";
import { drawFigure, type Panel } from "../../ground/frame.ts";
import { FigureOptions, readOptions } from "../../ground/options.ts";
import { numeric, readRows, text } from "../../ground/read_rows.ts";
import { shorten } from "../../ground/words.ts";
import { counted } from "../../../view/number_text.ts";

export type CacheByContextOptions = FigureOptions;

const COLUMNS = {
  figure: "cacheByContext",
  sql:
    "SELECT t.readable_id, t.methods, s.context_tokens, s.kv_bytes, s.seconds FROM samples s JOIN " +
    `trial_summary t USING (study_id, trial_id) WHERE s.fidelity = '${FULL}' AND ` +
    "s.context_tokens IS NOT NULL",
  required: { readable_id: text, methods: text, context_tokens: numeric, kv_bytes: numeric },
  optional: { seconds: numeric },
};
/** Contexts whose lengths differ by less than this stand in one point, at their mean. */
const NEAR = 2 ** 0.25;
const BASELINE = "baseline";
const HEIGHT = 250;
const ROOM_OF_NUMBER = 56;
const MARGIN = { marginLeft: 58, marginRight: 16, marginTop: 30, marginBottom: 40 };

interface Point {
  readonly recipe: string;
  readonly context: number;
  readonly megabytes: number;
  readonly milliseconds: number | null;
  readonly colour: string;
  readonly shape: Shape;
}

type Row = ReturnType<typeof rowsOf>[number];
const rowsOf = (rows: readonly object[]) => readRows(rows, COLUMNS);

const mean = (values: readonly number[]) =>
  values.reduce((sum, one) => sum + one, 0) / values.length;

/**
 * The full cache as the star that the front has for it, in grey: a method has the sign that it has in the other
 * figures of a study's caches, and no other where colours are not seen.
 */
function methodSigns(rows: readonly Row[]): Map<string, { colour: string; shape: Shape }> {
  const names = rows.map(({ methods }) => methods ?? "–");
  const cut = signsOf(names.filter((name) => name !== BASELINE));
  const full = { colour: QUIET, shape: "star" } as const;
  return names.includes(BASELINE) ? new Map([[BASELINE, full], ...cut]) : cut;
}

function pointsOf(rows: readonly Row[]): Point[] {
  const told = rows.filter(({ context_tokens, kv_bytes }) =>
    context_tokens !== null && context_tokens > 0 && kv_bytes !== null
  );
  const signs = methodSigns(told);
  const bin = (tokens: number) => Math.round(Math.log(tokens) / Math.log(NEAR));
  const groups = Map.groupBy(told, (row) => `${row.readable_id} ${bin(row.context_tokens!)}`);
  return [...groups.values()].map((own): Point => {
    const seconds = own.flatMap((row) => row.seconds ?? []);
    return {
      recipe: own[0]!.readable_id ?? "–",
      context: mean(own.map((row) => row.context_tokens!)),
      megabytes: mean(own.map((row) => row.kv_bytes!)) / 1e6,
      milliseconds: seconds.length === 0 ? null : 1000 * mean(seconds),
      ...signs.get(own[0]!.methods ?? "–")!,
    };
  }).toSorted((a, b) => a.context - b.context);
}

/** Lengths that points stand at, as many as have room for their numbers: a narrow axis has no power of ten. */
function lengthsNamed(points: readonly Point[], width: number): number[] {
  const lengths = [...new Set(points.map(({ context }) => Math.round(context)))];
  const across = Math.max(1e-9, Math.log(lengths.at(-1)! / lengths[0]!));
  const room = (ROOM_OF_NUMBER / (width - MARGIN.marginLeft - MARGIN.marginRight)) * across;
  return lengths.reduce<number[]>((named, one) => {
    const last = named.at(-1);
    return last !== undefined && Math.log(one / last) < room ? named : [...named, one];
  }, []);
}

/** A format by name would leave numbers out, as an axis of logarithms does. */
const withCommas = (tokens: number) => tokens.toLocaleString("en-US");

function panelOf(points: readonly Point[], y: "megabytes" | "milliseconds", words: string): Panel {
  return (width) => {
    const drawn = points.filter((one) => one[y] !== null && one[y]! > 0);
    const at = { x: "context", y } as const;
    return {
      ...MARGIN,
      height: HEIGHT,
      x: {
        ...{ type: "log", label: "tokens of the context", labelArrow: "none", grid: true },
        ...{ ticks: lengthsNamed(drawn, width), tickFormat: withCommas, inset: 10 },
      },
      y: {
        ...{ type: "log", label: shorten(`↓ better: ${words}`, width - 30, 11), grid: true },
        ...{ labelArrow: "none", ticks: 4, tickFormat: "~g", nice: true },
      },
      marks: [
        Plot.line(drawn, { ...at, z: "recipe", stroke: "colour", strokeWidth: 1.3 }),
        Plot.dot(drawn, { ...at, symbol: "shape", r: 3.6, fill: "colour" }),
      ],
    };
  };
}

/**
 * Bytes that are left of a context, and milliseconds of a sample, over the length of the context: a line a
 * trial. Rows: samples of a study that cuts caches.
 */
export function cacheByContext(rows: readonly object[], options?: CacheByContextOptions): string {
  const settled = readOptions("cacheByContext", FigureOptions, options);
  const points = pointsOf(rowsOf(rows));
  const signs = methodSigns(rowsOf(rows));
  const timed = points.some(({ milliseconds }) => milliseconds !== null);
  const trials = new Set(points.map(({ recipe }) => recipe)).size;
  return drawFigure({
    title: "The cache by the length of the context",
    description: points.length === 0
      ? `Nothing is drawn: no trial cut its cache after a context. ${COLUMNS.sql} gives the rows.`
      : `${counted(trials, "trial")} on contexts of ${Math.round(points[0]!.context)} to ${
        Math.round(points.at(-1)!.context)
      } tokens.`,
    legend: points.length === 0 ? [] : [
      ...[...signs].map(([text, sign]) => ({ text, ...sign })),
      { text: "a line: one trial", shape: "line", colour: INK },
    ],
    notes: points.length === 0
      ? []
      : ["Time is the reading and the answer in torch, as if asked alone: no kernel's speed."],
    panels: points.length === 0 ? [] : [
      panelOf(points, "megabytes", "MB of keys and values"),
      ...(timed ? [panelOf(points, "milliseconds", "ms of a sample, emulated")] : []),
    ],
    columns: 2,
  }, settled);
}
