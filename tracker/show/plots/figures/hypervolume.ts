import * as Plot from "@observablehq/plot";
import { hue, RULE } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text } from "../ground/read_rows.ts";
import { counted } from "../../view/number_text.ts";

const COLUMNS = {
  figure: "hypervolume",
  sql: "SELECT * FROM episodes",
  required: { number: numeric, hypervolume: numeric },
  optional: {
    study_id: text,
    hypervolume_low: numeric,
    hypervolume_high: numeric,
    spent_seconds: numeric,
    spent_gpu_hours: numeric,
    spent_joules: numeric,
  },
};

/** What a study costs, and what the axis of each says; in the order in which they are drawn. */
const COSTS = [
  { name: "spent_seconds", axis: "minutes of the study →", per: 60 },
  { name: "spent_gpu_hours", axis: "GPU hours →", per: 1 },
  { name: "spent_joules", axis: "kilojoules →", per: 1000 },
] as const;

interface Step {
  readonly x: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

function panelOf(steps: readonly Step[], axis: string): Panel {
  const x = "x";
  return (width) => ({
    height: 270,
    marginLeft: 48,
    marginRight: 18,
    marginTop: 30,
    marginBottom: 40,
    x: { label: axis, labelArrow: "none", nice: true, zero: true, ticks: width / 80 },
    y: { label: "↑ better: hypervolume", labelArrow: "none", nice: true, grid: true, ticks: 5 },
    marks: [
      Plot.areaY(steps, {
        ...{ x, y1: "low", y2: "high", curve: "step-after" },
        ...{ fill: hue(0), fillOpacity: 0.2 },
      }),
      Plot.line(steps, { x, y: "value", curve: "step-after", stroke: hue(0), strokeWidth: 2 }),
      Plot.dot(steps.length > 300 ? [] : steps, { x, y: "value", r: 3, fill: hue(0) }),
      Plot.ruleY([0], { stroke: RULE }),
    ],
  });
}

const TITLE = "Hypervolume of the front over what the study spent";

/**
 * The hypervolume as each episode left it, over what was spent until then: a panel for each cost that was
 * measured, the 95 % interval as a band. Rows: `SELECT * FROM episodes`, of one study.
 */
export function hypervolume(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("hypervolume", FigureOptions, options);
  const all = readRows(rows, COLUMNS).filter((row) => row.number !== null)
    .toSorted((a, b) => a.number! - b.number!);
  const studies = new Set(all.map(({ study_id }) => study_id));
  // Of several studies the last one alone: one line through all would be of none.
  const last = all.at(-1)?.study_id;
  const own = studies.size > 1 ? all.filter(({ study_id }) => study_id === last) : all;
  const ofCost = ({ name, axis, per }: (typeof COSTS)[number]) => {
    const steps = own.flatMap((row) => {
      const [spent, value] = [row[name], row.hypervolume];
      if (spent === null || value === null) return [];
      const [low, high] = [row.hypervolume_low ?? value, row.hypervolume_high ?? value];
      return [{ x: spent / per, value, low, high }];
    });
    return steps.length === 0 || steps.at(-1)!.x === 0 ? [] : [panelOf(steps, axis)];
  };
  const panels = COSTS.flatMap(ofCost);
  const measured = own.filter((row) => row.hypervolume !== null);
  const from = measured[0]?.hypervolume;
  return drawFigure({
    title: TITLE,
    description: panels.length === 0
      ? "Nothing is drawn: no episode says both its hypervolume and what was spent. Rows come from " +
        "SELECT * FROM episodes once a study has measured its baseline and a trial."
      : `After ${counted(measured.length, "episode")} the hypervolume went from ` +
        `${from!.toPrecision(3)} to ${
          measured.at(-1)!.hypervolume!.toPrecision(3)
        }; more is better.`,
    legend: panels.length === 0 ? [] : [
      { text: "hypervolume as an episode left it", shape: "circle", colour: hue(0) },
      { text: "95 % interval", shape: "band", colour: hue(0) },
    ],
    notes: studies.size > 1
      ? [
        `Only the study ${last} is drawn, of ${studies.size} in the rows: ask for one by study_id.`,
      ]
      : [],
    panels,
  }, settled);
}
