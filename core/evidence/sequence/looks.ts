import type { SampleResult } from "../../schemas/measurement.ts";
import { sampleKey, type SampleOrder } from "./paired_sequence.ts";

/** Row numbers by task. */
export type RowsByTask = Readonly<Record<string, readonly number[]>>;

/** A look costs the start of a process: it must leave at least this share of the samples unread. */
const LEAST_SAVED = 0.25;

/** The first look above the samples that a lower rung has read already takes so many. */
const FIRST = 100;

/**
 * The samples that are read before each look on the way to all of a rung's: what the lower rungs have
 * read, and of the shared order twice as many each time, so that all looks together cost less than one
 * evaluation more. None where too little would be left to save.
 */
export function looksOf(order: SampleOrder, lower: readonly SampleResult[]): RowsByTask[] {
  const read = new Set(lower.map(sampleKey));
  const samples = order.placed.map(({ sample }) => sample);
  const looks: RowsByTask[] = [];
  const most = (1 - LEAST_SAVED) * samples.length;
  for (let n = Math.max(FIRST, 2 * read.size); n <= most; n *= 2) {
    const taken = samples.filter((sample, i) => i < n || read.has(sampleKey(sample)));
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
