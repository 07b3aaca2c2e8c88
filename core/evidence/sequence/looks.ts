import type { RowsByTask } from "../../ports.ts";
import type { SampleResult } from "../../schemas/measurement.ts";
import { sampleKey, type SampleOrder } from "./paired_sequence.ts";

/** A look costs the start of a process: it must leave at least this share of the samples unread. */
const LEAST_SAVED = 0.25;
/** What it may save must be worth so many such starts, as it decides about every second time at best. */
const STARTS_SAVED = 2;
/** Between two looks so many such starts are read: looks that decide nothing cost a quarter more at most. */
const STARTS_APART = 4;

/** The first look above the samples that a lower rung has read already takes so many. */
const FIRST = 100;

/**
 * The samples that are read before each look on the way to all of a rung's: what the lower rungs have
 * read, and of the shared order twice as many each time, or more where a process takes long to start.
 * None where too little would be left to save.
 *
 * start: samples that are answered in the time in which a process starts; 0: nobody knows
 */
export function looksOf(
  order: SampleOrder,
  lower: readonly SampleResult[],
  start = 0,
): RowsByTask[] {
  const read = new Set(lower.map(sampleKey));
  const looks: RowsByTask[] = [];
  const all = order.placed.length;
  const most = Math.min((1 - LEAST_SAVED) * all, all - STARTS_SAVED * start);
  const after = (n: number) => Math.max(2 * n, n + Math.ceil(STARTS_APART * start));
  for (let n = Math.max(FIRST, after(read.size)); n <= most; n = after(n)) {
    const whole = order.placed[Math.ceil(n) - 1]!.batch; // a batch counts once it is read whole
    const taken = order.placed.filter(({ sample, batch }) =>
      batch <= whole || read.has(sampleKey(sample))
    ).map(({ sample }) => sample);
    const byTask = Map.groupBy(taken, ({ task }) => task);
    looks.push(Object.fromEntries(
      [...byTask].map(([task, own]) => [
        task,
        own.map(({ sample_id }) => Number(sample_id)).sort((a, b) => a - b),
      ]),
    ));
  }
  return looks;
}
