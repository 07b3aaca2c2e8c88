/** What the benchmark keeps, and its table. */
import { z } from "zod";
import type { Replayed, Step } from "./replay_way.ts";

/** The share of the final hypervolume that is asked for. */
export const SHARE = 0.95;

const Spread = z.strictObject({ median: z.number(), low: z.number(), high: z.number() });
type Spread = z.infer<typeof Spread>;

/** A way of evaluating, over all orders of the recipes: medians with the quarters around them. */
export const CostRow = z.strictObject({
  way: z.string(),
  /** Samples of the benchmarks, and how often each recorded one stands for them. */
  benchmark: z.int(),
  times: z.int(),
  /** Machine minutes until 95 % of what the first way finds in the end; null: in fewer than half of the orders. */
  minutes: Spread.nullable(),
  /** Over the first way's in the same order. */
  ratio: Spread.nullable(),
  /** The same with timing counted. */
  ratio_timed: Spread.nullable(),
  /** Minutes of the whole study, timing left out. */
  whole: Spread,
  full: z.number(),
  samples: z.number(),
  /** Hypervolume in the end over the first way's. */
  found: Spread,
});
export type CostRow = z.infer<typeof CostRow>;

/** A study that was really run: machine minutes, timing left out, to 95 % and to its end. */
const Measured = z.strictObject({
  way: z.string(),
  minutes: z.number().nullable(),
  whole: z.number(),
});
export type Measured = z.infer<typeof Measured>;

export const KeptCost = z.strictObject({
  model: z.string(),
  dataset: z.string(),
  cores: z.number(),
  trials: z.number(),
  orders: z.number(),
  measured: z.array(Measured),
  rows: z.array(CostRow),
});
export type KeptCost = z.infer<typeof KeptCost>;

/** Linear between the two nearest. */
function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (at - Math.floor(at)) * (high - low);
}

function spreadOf(values: readonly number[]): Spread {
  return {
    median: quantile(values, 0.5),
    low: quantile(values, 0.25),
    high: quantile(values, 0.75),
  };
}

/** Seconds until a hypervolume is reached; null: it never is. */
export function secondsTo(
  steps: readonly Step[],
  hypervolume: number,
  timed = false,
): number | null {
  const step = steps.find((one) => one.hypervolume >= hypervolume);
  return step === undefined ? null : step.work + (timed ? step.timing : 0);
}

/** A ratio of orders in which both reached it; null: fewer than half did. */
function ratios(
  own: readonly (number | null)[],
  first: readonly (number | null)[],
): Spread | null {
  const both = own.flatMap((one, i) => one === null || first[i] == null ? [] : [one / first[i]!]);
  return 2 * both.length < own.length ? null : spreadOf(both);
}

/** The row of a way from its replays, one an order, beside those of the first way in the same orders. */
export function costRow(
  about: Pick<CostRow, "way" | "benchmark" | "times">,
  own: readonly Replayed[],
  first: readonly Replayed[],
): CostRow {
  const goals = first.map(({ steps }) => SHARE * steps.at(-1)!.hypervolume);
  const reached = (some: readonly Replayed[], timed = false) =>
    some.map(({ steps }, i) => secondsTo(steps, goals[i]!, timed));
  const mean = (of: (one: Replayed) => number) =>
    own.reduce((sum, one) => sum + of(one), 0) / own.length;
  const minutes = reached(own).flatMap((one) => one === null ? [] : [one / 60]);
  return {
    ...about,
    minutes: 2 * minutes.length < own.length ? null : spreadOf(minutes),
    ratio: ratios(reached(own), reached(first)),
    ratio_timed: ratios(reached(own, true), reached(first, true)),
    whole: spreadOf(own.map(({ steps }) => steps.at(-1)!.work / 60)),
    full: mean(({ full }) => full),
    samples: mean(({ samples }) => samples),
    found: spreadOf(
      own.map(({ steps }, i) => steps.at(-1)!.hypervolume / first[i]!.steps.at(-1)!.hypervolume),
    ),
  };
}

const shown = (spread: Spread | null, digits: number) =>
  spread === null
    ? "not reached"
    : `${spread.median.toFixed(digits)} (${spread.low.toFixed(digits)} to ${
      spread.high.toFixed(digits)
    })`;

/** The page's table: medians over orders, with the quarters around them. */
export function costTable({ rows, measured }: Pick<KeptCost, "rows" | "measured">): string {
  const head = [
    "samples",
    "way",
    "minutes to 95 %",
    "× in full",
    "× with timing",
    "minutes in all",
    "trials in full",
    "samples read",
    "found",
    "really run: to 95 %, in all",
  ];
  const lines = rows.map((row) => {
    const run = measured.find(({ way }) => way === row.way && row.times === 1);
    return [
      `${row.benchmark}${row.times === 1 ? "" : ", repeated"}`,
      row.way,
      shown(row.minutes, 1),
      shown(row.ratio, 2),
      shown(row.ratio_timed, 2),
      shown(row.whole, 1),
      row.full.toFixed(1),
      row.samples.toFixed(0),
      shown(row.found, 3),
      run === undefined
        ? "–"
        : `${run.minutes?.toFixed(1) ?? "not reached"}, ${run.whole.toFixed(1)}`,
    ];
  });
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}
