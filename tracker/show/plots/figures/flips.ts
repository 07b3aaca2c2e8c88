import { FULL } from "../../../../core/mod.ts";
import { z } from "zod";
import { colour, hue } from "../ground/colours.ts";
import { type Bar, barPanel, fewest } from "../ground/bars.ts";
import { drawFigure } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { counted } from "../../view/number_text.ts";

const Options = FigureOptions.extend({
  baseline: z.string().optional().describe("trial id; default the one that ends in /t00"),
  fidelity: z.string().default(FULL),
});
export type FlipsOptions = z.input<typeof Options>;

const COLUMNS = {
  figure: "flips",
  sql: "SELECT * FROM flips",
  required: { kept_by: text, lost_by: text, task: text, fidelity: text },
  optional: { n: numeric },
};

const LOST = hue(1);
const GAINED = colour("hue0");

/**
 * Samples that a trial answers otherwise than the baseline: to the left those that it lost, to the right
 * those that it gained. Rows: `SELECT * FROM flips`, or counted with a column n.
 */
export function flips(rows: readonly object[], options?: FlipsOptions): string {
  const settled = readOptions("flips", Options, options);
  const all = readRows(rows, COLUMNS).filter(({ fidelity }) => fidelity === settled.fidelity);
  const ids = all.flatMap(({ kept_by, lost_by }) => [kept_by, lost_by]);
  const baseline = settled.baseline ?? ids.find((id) => id?.endsWith("/t00")) ?? null;
  const name = trialNames(ids);
  const counts = new Map<string, { lost: number; gained: number }>();
  for (const { kept_by, lost_by, n } of all) {
    const [trial, way] = kept_by === baseline
      ? [lost_by, "lost" as const]
      : lost_by === baseline
      ? [kept_by, "gained" as const]
      : [null, "lost" as const];
    if (trial === null || baseline === null) continue;
    const own = counts.get(name(trial)) ?? { lost: 0, gained: 0 };
    own[way] += n ?? 1;
    counts.set(name(trial), own);
  }
  const trials = [...counts].toSorted(([a], [b]) => a < b ? -1 : 1);
  const { shown, notes } = fewest(trials, "trials");
  const bars = shown.flatMap(([row, { lost, gained }]): Bar[] => [
    { row, from: 0, to: -lost, fill: LOST, title: `${row} lost ${counted(lost, "answer")}` },
    { row, from: 0, to: gained, fill: GAINED, title: `${row} gained ${counted(gained, "answer")}` },
  ]);
  const labels = shown.map(([row, { lost, gained }]) => ({
    ...{ row, at: gained },
    text: `−${lost} +${gained}`,
  }));
  const worst = trials.toSorted(([, a], [, b]) => b.lost - a.lost)[0];
  return drawFigure({
    title: "Answers that changed against the baseline's",
    subtitle: trials.length === 0 ? "" : `samples of the ${settled.fidelity} evaluation`,
    description: worst === undefined
      ? `Nothing is drawn: no sample of the ${settled.fidelity} evaluation was answered right by the ` +
        "baseline and wrong by a trial, or the other way round. Rows come from SELECT * FROM flips."
      : `${counted(trials.length, "trial")}; most are lost by ${worst[0]}: ${
        worst[1].lost
      }, with ` +
        `${worst[1].gained} gained.`,
    legend: trials.length === 0 ? [] : [
      { text: "left: the baseline was right, the trial is wrong", shape: "square", colour: LOST },
      { text: "right: the other way round", shape: "square", colour: GAINED },
    ],
    notes,
    panels: trials.length === 0
      ? []
      : [barPanel(shown.map(([row]) => row), bars, labels, "← lost | samples gained →")],
  }, settled);
}
