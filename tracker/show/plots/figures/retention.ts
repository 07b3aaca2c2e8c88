import { FULL } from "../../../../core/mod.ts";
import * as Plot from "@observablehq/plot";
import { z } from "zod";
import { change } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { shorten } from "../ground/words.ts";
import { counted } from "../../view/number_text.ts";

const Options = FigureOptions.extend({
  metric: z.string().default("accuracy"),
  fidelity: z.string().default(FULL),
  of: z.enum(["ratio", "chance_corrected"]).default("ratio"),
});
export type RetentionOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "retention",
  sql: "SELECT * FROM retention",
  required: { trial_id: text, metric: text, task: text, fidelity: text, ratio: numeric },
  optional: { slice: text, chance_corrected: numeric },
};

interface Cell {
  readonly trial: string;
  readonly task: string;
  readonly share: number;
}

const ROW = 26;
const MOST_ROWS = 60;
const ALL_TASKS = "all tasks";
/** A change of the score by this much has the deepest colour. */
const DEEPEST = 0.3;

function panelOf(
  cells: readonly Cell[],
  trials: readonly string[],
  tasks: readonly string[],
): Panel {
  return (width) => {
    const left = Math.min(150, width * 0.3);
    const each = (width - left - 12) / tasks.length;
    const drawn = cells.map((cell) => ({ ...cell, ...change((cell.share - 1) / DEEPEST) }));
    const at = { x: "task", y: "trial" } as const;
    return {
      height: 44 + ROW * trials.length,
      marginLeft: left,
      marginRight: 12,
      marginTop: 36,
      marginBottom: 8,
      x: {
        ...{ domain: [...tasks], axis: "top", label: null, tickSize: 0, padding: 0.04 },
        tickFormat: (task: string) => shorten(task, each - 4, 11),
      },
      y: {
        ...{ domain: [...trials], label: null, tickSize: 0, padding: 0.08 },
        tickFormat: (trial: string) => shorten(trial, left - 12, 11),
      },
      marks: [
        Plot.cell(drawn, {
          ...{ ...at, fill: "fill" },
          title: (d: Cell) => `${d.trial}, ${d.task}: ${(d.share * 100).toFixed(1)} %`,
        }),
        each < 34 ? null : Plot.text(drawn, {
          ...{ ...at, fill: "ink", fontSize: 11 },
          text: (d: Cell) => (d.share * 100).toFixed(each < 44 ? 0 : 1),
        }),
      ],
    };
  };
}

/**
 * What each trial keeps of the baseline's score, task by task, in percent. Rows:
 * `SELECT * FROM retention`; `of: "chance_corrected"` is what is left above guessing.
 */
export function retention(rows: readonly object[], options?: RetentionOptions): string {
  const settled = readOptions("retention", Options, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const found = new Map<string, Cell>();
  for (const row of all) {
    const share = row[settled.of];
    if (row.metric !== settled.metric || row.fidelity !== settled.fidelity) continue;
    if (row.slice !== null || share === null) continue;
    const cell = { trial: name(row.trial_id), task: row.task ?? ALL_TASKS, share };
    found.set(`${cell.trial} ${cell.task}`, cell);
  }
  const cells = [...found.values()];
  const trials = [...new Set(cells.map(({ trial }) => trial))].sort();
  const own = [...new Set(cells.map(({ task }) => task))].filter((task) => task !== ALL_TASKS)
    .sort();
  const tasks = cells.some(({ task }) => task === ALL_TASKS) ? [...own, ALL_TASKS] : own;
  const shown = trials.slice(0, MOST_ROWS);
  const least = cells.toSorted((a, b) => a.share - b.share)[0];
  const what = `${settled.metric} of the ${settled.fidelity} evaluation`;
  return drawFigure({
    title: settled.of === "ratio"
      ? "What each trial keeps of the baseline's score"
      : "What each trial keeps above guessing",
    subtitle: cells.length === 0 ? "" : `${what}, percent of the baseline's`,
    description: least === undefined
      ? `Nothing is drawn: no row has the ${settled.of} of ${what}. Rows come from SELECT * FROM ` +
        "retention once a trial is measured beside its baseline; metric and fidelity are options."
      : `${counted(trials.length, "trial")} on ${counted(own.length, "task")}; the least kept is ` +
        `${(least.share * 100).toFixed(1)} % by ${least.trial} on ${least.task}.`,
    notes: cells.length === 0 ? [] : [
      "Warm and darker: more is lost. Cold: more than the baseline's.",
      ...shown.length < trials.length
        ? [`Drawn are the first ${shown.length} of ${trials.length} trials.`]
        : [],
    ],
    panels: cells.length === 0 ? [] : [panelOf(cells, shown, tasks)],
  }, settled);
}
