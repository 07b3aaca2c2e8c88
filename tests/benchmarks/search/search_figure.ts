/** How the hypervolume grows with the trials, a panel for each problem: the picture of the campaign. */
import * as Plot from "@observablehq/plot";
import { quantile } from "../../../core/mod.ts";
import { signsOf } from "../../../tracker/show/plots/ground/colours.ts";
import { drawFigure, type Panel } from "../../../tracker/show/plots/ground/frame.ts";
import { FigureOptions, readOptions } from "../../../tracker/show/plots/ground/options.ts";
import { EVERY, type SearchRun } from "./run_search.ts";

/** Shares below count as this one: on a logarithmic axis nothing left has no place. */
const LEAST_LEFT = 0.001;

interface At {
  readonly sampler: string;
  readonly trials: number;
  readonly left: number;
  readonly colour: string;
  readonly shape: unknown;
}

/** The medians of what is left to the greatest hypervolume after 10, 20, 30 trials. */
function leftOf(runs: readonly SearchRun[]): { trials: number; left: number }[] {
  const longest = Math.max(...runs.map(({ curve }) => curve.length));
  return Array.from({ length: longest }, (_, index) => {
    const shares = runs.flatMap(({ curve }) => curve[index] ?? []).sort((a, b) => a - b);
    const left = Math.max(LEAST_LEFT, 1 - quantile(shares, 0.5));
    return { trials: EVERY * (index + 1), left };
  });
}

function panelOf(problem: string, drawn: readonly At[]): Panel {
  const ends = [...Map.groupBy(drawn, ({ sampler }) => sampler).values()].map((line) =>
    line.at(-1)!
  );
  return (width) => ({
    ...{ height: 250, marginLeft: 52, marginRight: 18, marginTop: 30, marginBottom: 40 },
    x: { label: "trials →", labelArrow: "none", ticks: width / 90, nice: true },
    y: {
      ...{ label: `${problem}: ↓ better, share left`, labelArrow: "none", grid: true },
      ...{ ticks: 4, type: "log", tickFormat: "~g" },
    },
    marks: [
      Plot.line(drawn, {
        x: "trials",
        y: "left",
        z: "sampler",
        stroke: "colour",
        strokeWidth: 1.8,
      }),
      Plot.dot(ends, { x: "trials", y: "left", symbol: "shape", fill: "colour", r: 4 }),
    ] as Plot.Markish[],
  });
}

/** `shown`: the samplers that are drawn. */
export function searchFigure(runs: readonly SearchRun[], shown: readonly string[]): string {
  const signs = signsOf(shown);
  const own = runs.filter(({ sampler }) => signs.has(sampler));
  const problems = [...Map.groupBy(own, ({ problem }) => problem)];
  const panels = problems.map(([problem, found]) =>
    panelOf(
      problem,
      [...Map.groupBy(found, ({ sampler }) => sampler)].flatMap(([sampler, some]) =>
        leftOf(some).map((one) => ({ sampler, ...one, ...signs.get(sampler)! }))
      ),
    )
  );
  return drawFigure({
    title: "What is left to the greatest hypervolume",
    subtitle: "medians over paired seeds",
    description: `${problems.length} problems, ${shown.length} samplers: the median share of the ` +
      "greatest hypervolume that is not found yet, over the trials.",
    legend: [...signs].map(([text, { colour, shape }]) => ({ text, colour, shape })),
    notes: [`A share below ${LEAST_LEFT} is drawn as ${LEAST_LEFT}.`],
    panels,
    panelWidth: 340,
  }, readOptions("searchFigure", FigureOptions, {}));
}
