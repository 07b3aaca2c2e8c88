import * as Plot from "@observablehq/plot";
import { INK, type Sign, signsOf } from "../ground/colours.ts";
import { drawFigure, type Panel } from "../ground/frame.ts";
import { FigureOptions, readOptions } from "../ground/options.ts";
import { numeric, readRows, text, trialNames } from "../ground/read_rows.ts";
import { thinned } from "../ground/thin.ts";
import { counted } from "../../view/number_text.ts";

const COLUMNS = {
  figure: "memory",
  sql: "SELECT * FROM resources",
  required: { trial_id: text, call: text, seconds: numeric, rss_bytes: numeric },
  optional: { gpu_memory_bytes: numeric },
};

interface Sample {
  readonly x: number;
  readonly y: number;
  readonly trial: string;
  readonly call: string;
  readonly gap: number;
}

type Signs = ReadonlyMap<string, Sign>;

const GB = 1e9;
const MOST_TRIALS = 8;
const MOST_POINTS = 300;

function panelOf(trial: string, samples: readonly Sample[], signs: Signs, top: number): Panel {
  const lines = [...Map.groupBy(samples, ({ gap }) => gap).values()];
  const drawn = lines.flatMap((line) => thinned(line, MOST_POINTS, ({ y }) => y))
    .map((one) => ({ ...one, ...signs.get(one.call)! }));
  const ends = [...Map.groupBy(drawn, ({ gap }) => gap).values()].map((line) => line.at(-1)!);
  const most = drawn.toSorted((a, b) => b.y - a.y).slice(0, 1);
  return (width) => ({
    height: 190,
    marginLeft: 44,
    marginRight: 20,
    marginTop: 30,
    marginBottom: 38,
    x: { label: "seconds →", labelArrow: "none", ticks: width / 70 },
    y: {
      ...{ label: `${trial}: GB`, labelArrow: "none", grid: true, nice: true, ticks: 4 },
      domain: [0, top],
    },
    marks: [
      Plot.line(drawn, { x: "x", y: "y", z: "gap", stroke: "colour", strokeWidth: 2 }),
      Plot.dot(ends, { x: "x", y: "y", symbol: "shape", fill: "colour", r: 4 }),
      Plot.text(most, { x: "x", y: "y", dy: -10, text: (d: Sample) => d.y.toFixed(2), fill: INK }),
    ],
  });
}

/**
 * Memory of the workers over a trial's own time, call after call, a panel a trial. Rows:
 * `SELECT * FROM resources`.
 */
export function memory(rows: readonly object[], options?: FigureOptions): string {
  const settled = readOptions("memory", FigureOptions, options);
  const all = readRows(rows, COLUMNS);
  const name = trialNames(all.map(({ trial_id }) => trial_id));
  const trials = [...new Set(all.map(({ trial_id }) => name(trial_id)))].sort();
  const shown = trials.slice(0, MOST_TRIALS);
  const clocks = new Map<
    string,
    { base: number; last: number; call: string | null; gap: number }
  >();
  const [host, gpu]: [Sample[], Sample[]] = [[], []];
  for (const row of all) {
    const trial = name(row.trial_id);
    if (row.seconds === null || !shown.includes(trial)) continue;
    const clock = clocks.get(trial) ?? { base: 0, last: 0, call: row.call, gap: 0 };
    // Each call counts from its own start: the next one goes on where it ended.
    if (row.call !== clock.call || row.seconds < clock.last) {
      clock.base += clock.last;
      clock.gap++;
    }
    [clock.last, clock.call] = [row.seconds, row.call];
    clocks.set(trial, clock);
    const call = row.call ?? "–";
    const at = { x: clock.base + row.seconds, trial, call, gap: clock.gap };
    // A process that has just ended has no memory: that is no sample of its work.
    if (row.rss_bytes !== null && row.rss_bytes > 0) host.push({ ...at, y: row.rss_bytes / GB });
    if (row.gpu_memory_bytes !== null) gpu.push({ ...at, y: row.gpu_memory_bytes / GB });
  }
  const signs = signsOf([...host, ...gpu].map(({ call }) => call));
  const panels = (samples: readonly Sample[], what: string) => {
    const top = Math.max(0, ...samples.map(({ y }) => y)) * 1.12;
    return [...Map.groupBy(samples, ({ trial }) => trial)]
      .map(([trial, own]) => panelOf(`${trial}${what}`, own, signs, top));
  };
  const most = host.toSorted((a, b) => b.y - a.y)[0];
  return drawFigure({
    title: "Memory over time",
    description: most === undefined
      ? "Nothing is drawn: no row has rss_bytes. A study samples it every second while it works; " +
        "SELECT * FROM resources gives it."
      : `${counted(trials.length, "trial")}; the most is ${
        most.y.toFixed(2)
      } GB, in ${most.trial}.`,
    legend: most === undefined
      ? []
      : [...signs].map(([text, { colour, shape }]) => ({ text, colour, shape })),
    notes: [
      ...most === undefined
        ? []
        : ["A line a call, its shape at the end; the figure is the most of the trial."],
      ...shown.length < trials.length
        ? [`Drawn are the first ${shown.length} of ${trials.length} trials.`]
        : [],
    ],
    panels: [...panels(host, ""), ...panels(gpu, ", GPU")],
    columns: 3,
    panelWidth: 250,
  }, settled);
}
