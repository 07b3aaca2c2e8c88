import * as Plot from "@observablehq/plot";
import { counted, duration } from "../../view/number_text.ts";
import { PAPER, signsOf } from "../ground/colours.ts";
import { type Bar, barPanel, fewest } from "../ground/bars.ts";
import { drawFigure } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";

const COLUMNS = {
  figure: "phases",
  sql: "SELECT * FROM spans",
  required: { trial_id: text, phase: text, seconds: numeric },
  optional: { name: text },
};

const OTHER = "between phases";

/** Minutes of each trial by phase, numbered in the legend's order. Rows: `SELECT * FROM spans`. */
export function phases(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("phases", FigureOptions, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const sums = new Map<string, Map<string, number>>();
  for (const { trial_id, phase, seconds } of all) {
    if (seconds === null || seconds < 0) continue;
    const own = sums.get(name(trial_id)) ?? new Map<string, number>();
    own.set(phase ?? OTHER, (own.get(phase ?? OTHER) ?? 0) + seconds);
    sums.set(name(trial_id), own);
  }
  const trials = [...sums].toSorted(([a], [b]) => a < b ? -1 : 1);
  const { shown, notes } = fewest(trials, "trials");
  const names = [...new Set(trials.flatMap(([, own]) => [...own.keys()]))];
  const signs = signsOf(names);
  const bars: (Bar & { middle: number; number: string })[] = [];
  const labels = shown.map(([row, own]) => {
    let at = 0;
    for (const phase of names) {
      const minutes = (own.get(phase) ?? 0) / 60;
      if (minutes === 0) continue;
      const title = `${row}, ${phase}: ${duration(minutes * 60)}`;
      const fill = signs.get(phase)!.colour;
      const number = String(names.indexOf(phase) + 1);
      bars.push({ row, from: at, to: at + minutes, fill, title, middle: at + minutes / 2, number });
      at += minutes;
    }
    return { row, at, text: duration(at * 60) };
  });
  const longest = Math.max(0, ...labels.map(({ at }) => at));
  const numbers = ({ y }: { y: string }) => [
    Plot.text(bars.filter(({ from, to }) => to - from > longest * 0.05), {
      ...{ y, x: "middle", text: "number", fill: PAPER, fontSize: 10 },
    }),
  ];
  const all_seconds = labels.reduce((sum, { at }) => sum + at * 60, 0);
  return drawFigure({
    title: "Time by phase",
    description: trials.length === 0
      ? "Nothing is drawn: no span has seconds. A study writes them as its trials end; SELECT * FROM " +
        "spans gives them."
      : `${counted(trials.length, "trial")} took ${duration(all_seconds)} in all.`,
    legend: names.map((phase, index) => ({
      ...{ text: `${index + 1} ${phase}`, shape: "square", colour: signs.get(phase)!.colour },
    })),
    notes,
    panels: trials.length === 0
      ? []
      : [barPanel(shown.map(([row]) => row), bars, labels, "minutes →", numbers)],
  }, settled);
}
