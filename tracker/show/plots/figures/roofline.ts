import * as Plot from "@observablehq/plot";
import { counted, number } from "../../view/number_text.ts";
import { hue, INK, PAPER } from "../ground/colours.ts";
import { type Bar, barPanel, fewest } from "../ground/bars.ts";
import { drawFigure } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";

const COLUMNS = {
  figure: "roofline",
  sql: "SELECT trial_id, any_value(runtime) AS runtime, " +
    "max(value) FILTER (metric = 'latency_ms') AS latency_ms, " +
    "max(value) FILTER (metric = 'roofline_ms') AS roofline_ms, " +
    "any_value(provenance) FILTER (metric = 'latency_ms') AS provenance FROM measurements GROUP BY trial_id",
  required: { trial_id: text, latency_ms: numeric, roofline_ms: numeric },
  optional: { runtime: text, provenance: text },
};

const EMULATED = "emulated";

/**
 * The time of a token beside the least that the machine's memory allows for the bytes that it must read.
 * Rows: latency_ms and roofline_ms by trial, and what the time is: one that is emulated is marked.
 */
export function roofline(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("roofline", FigureOptions, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const timed = all.flatMap(({ trial_id, latency_ms, roofline_ms, runtime, provenance }) =>
    latency_ms === null || roofline_ms === null || !(roofline_ms > 0) ? [] : [{
      ...{ row: name(trial_id), latency_ms, roofline_ms, runtime },
      emulated: provenance === EMULATED,
    }]
  ).toSorted((a, b) => a.row < b.row ? -1 : 1);
  const { shown, notes } = fewest(timed, "trials");
  const bars = shown.map(({ row, latency_ms, roofline_ms }): Bar => ({
    ...{ row, from: Math.min(roofline_ms, latency_ms), to: Math.max(roofline_ms, latency_ms) },
    fill: hue(5),
    title: `${row}: ${number(latency_ms)} ms, roofline ${number(roofline_ms)} ms`,
  }));
  const labels = shown.map(({ row, latency_ms, roofline_ms, emulated }) => ({
    ...{ row, at: Math.max(latency_ms, roofline_ms) },
    text: `${number(latency_ms)} ms, ${(latency_ms / roofline_ms).toFixed(1)} ×` +
      (emulated ? `, ${EMULATED}` : ""),
  }));
  const dots = (place: { y: string }) => [
    Plot.dot(shown, {
      ...place,
      x: "roofline_ms",
      symbol: "diamond",
      r: 5,
      stroke: INK,
      fill: PAPER,
    }),
    Plot.dot(shown, {
      ...{ ...place, x: "latency_ms", symbol: "circle", r: 5, stroke: INK },
      fill: ({ emulated }: typeof shown[number]) => emulated ? PAPER : INK,
    }),
  ];
  const runtimes = [...new Set(timed.flatMap(({ runtime }) => runtime ?? []))].join(", ");
  const measured = timed.filter(({ emulated }) => !emulated);
  const some = timed.length - measured.length;
  const nearest =
    measured.toSorted((a, b) => a.latency_ms / a.roofline_ms - b.latency_ms / b.roofline_ms)[0];
  return drawFigure({
    title: "Latency against the roofline",
    subtitle: runtimes === "" ? "" : `time per token in ${runtimes}`,
    description: timed.length === 0
      ? "Nothing is drawn: no row has both latency_ms and roofline_ms. They are measured where a runtime " +
        `times the trial; ${COLUMNS.sql} gives them.`
      : counted(timed.length, "trial") +
        (some === 0 ? "" : `, the time of ${some} ${EMULATED}`) +
        (nearest === undefined ? "." : `; nearest to its roofline is ${nearest.row} with ` +
          `${
            (nearest.latency_ms / nearest.roofline_ms).toFixed(1)
          } times the least possible time.`),
    legend: timed.length === 0 ? [] : [
      ...(measured.length === 0 ? [] : [{ text: "measured", shape: "circle" as const }]),
      ...(some === 0 ? [] : [{ text: EMULATED, shape: "circle" as const, hollow: true }]),
      { text: "roofline: bytes read / memory bandwidth", shape: "diamond", hollow: true },
    ],
    notes: timed.length === 0 ? [] : [
      ...notes,
      ...(some === 0 ? [] : [
        "Emulated: the runtime has no kernel for what is kept; that time ranks nothing.",
      ]),
      "A time below its roofline says that the bandwidth was measured in slower minutes.",
    ],
    panels: timed.length === 0
      ? []
      : [barPanel(shown.map(({ row }) => row), bars, labels, "← better: ms per token", dots)],
  }, settled);
}
