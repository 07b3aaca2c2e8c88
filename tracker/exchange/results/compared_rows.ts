import {
  FULL_CACHE,
  holm,
  pairBySample,
  pairedBootstrap,
  pairedDifference,
  pairedT,
  type SampleResult,
  streamRandom,
} from "../../../core/mod.ts";
import { ENDLESS, type ResultRow, type ResultTable } from "../../show/sweep/result_table.ts";

/** Samples of a trial's full evaluation, by trial. */
export type SamplesByTrial = ReadonlyMap<string, readonly SampleResult[]>;

/** One method against another on one benchmark, sample by sample. */
export interface ComparedTask {
  readonly task: string;
  readonly n: number;
  /** Which way is better. */
  readonly higher: boolean;
  /** Ours less theirs, in the figure of the samples. */
  readonly difference: number;
  /** Two-sided; null below two samples. */
  readonly t_p: number | null;
  readonly bootstrap_p: number | null;
  /** After Holm over the benchmarks of the comparison. */
  readonly t_p_holm: number | null;
  readonly bootstrap_p_holm: number | null;
}

/** A method at a budget against another at the same one, or against the full cache. */
export interface ComparedRows {
  readonly ours: Pick<ResultRow, "trial_id" | "method" | "budget">;
  readonly theirs: Pick<ResultRow, "trial_id" | "method" | "budget">;
  readonly tasks: readonly ComparedTask[];
}

/** The chance of a false claim that is accepted over all benchmarks of a comparison. */
export const LEVEL = 0.05;

const named = ({ trial_id, method, budget }: ResultRow) => ({ trial_id, method, budget });

/**
 * Every row of one method against the others of its budget and the full cache: paired t and paired
 * bootstrap, each adjusted by Holm over the benchmarks. Benchmarks on which the full cache is not told from
 * guessing are left out: they decide nothing.
 */
export function comparedRows(
  table: ResultTable,
  ours: string,
  samples: SamplesByTrial,
  seed: number,
): ComparedRows[] {
  const own = table.rows.filter(({ method }) => method === ours);
  return own.flatMap((row) =>
    table.rows.filter(({ method, budget }) =>
      method !== ours && (budget === row.budget || (method === FULL_CACHE && budget === ENDLESS))
    ).map((other) => ({
      ours: named(row),
      theirs: named(other),
      tasks: comparedTasks(table, row, other, samples, seed),
    }))
  );
}

function comparedTasks(
  { tasks }: ResultTable,
  row: ResultRow,
  other: ResultRow,
  samples: SamplesByTrial,
  seed: number,
): ComparedTask[] {
  const of = (one: ResultRow, task: string) =>
    (samples.get(one.trial_id) ?? []).filter((sample) => sample.task === task);
  const found = tasks.filter(({ told }) => told).flatMap(({ task, higher }) => {
    const { pairs } = pairBySample(of(other, task), of(row, task));
    if (pairs.length === 0) return [];
    const random = streamRandom(seed, `bootstrap ${row.trial_id} ${other.trial_id} ${task}`);
    return [{
      task,
      n: pairs.length,
      higher,
      difference: pairedDifference(pairs).mean,
      t_p: pairedT(pairs),
      bootstrap_p: pairedBootstrap(pairs, random),
    }];
  });
  const t = adjusted(found.map(({ t_p }) => t_p));
  const bootstrap = adjusted(found.map(({ bootstrap_p }) => bootstrap_p));
  return found.map((one, i) => ({
    ...one,
    t_p_holm: t[i]!,
    bootstrap_p_holm: bootstrap[i]!,
  }));
}

/** Holm over those that are known. */
function adjusted(values: readonly (number | null)[]): (number | null)[] {
  const known = values.flatMap((value, at) => value === null ? [] : [{ value, at }]);
  const held = holm(known.map(({ value }) => value));
  const found: (number | null)[] = values.map(() => null);
  known.forEach(({ at }, i) => found[at] = held[i]!);
  return found;
}

/** Whether ours is on the better side. */
export const isBetter = ({ difference, higher }: ComparedTask): boolean =>
  higher ? difference > 0 : difference < 0;

/** Whether both tests tell a difference after Holm. */
export function isTold({ t_p_holm, bootstrap_p_holm }: ComparedTask): boolean {
  return t_p_holm !== null && bootstrap_p_holm !== null && t_p_holm < LEVEL &&
    bootstrap_p_holm < LEVEL;
}

/**
 * What may be said of a method over all its comparisons, in a sentence; it is not called better where a
 * method that papers expect was not run.
 */
export function verdictOn(
  ours: string,
  { lacking }: ResultTable,
  all: readonly ComparedRows[],
): string {
  const told = all.flatMap(({ theirs, tasks }) =>
    theirs.method === FULL_CACHE ? [] : tasks.filter(isTold)
  );
  const better = told.filter(isBetter).length;
  const worse = told.length - better;
  const counted = all.reduce(
    (sum, { theirs, tasks }) => sum + (theirs.method === FULL_CACHE ? 0 : tasks.length),
    0,
  );
  const said = counted === 0
    ? `No benchmark compares ${ours} with another method at its budget`
    : `Of ${counted} comparisons of ${ours} with another method at its budget, ${better} are ` +
      `told better and ${worse} worse (paired t and paired bootstrap, Holm over benchmarks, 5 %)`;
  return lacking.length === 0
    ? `${said}.`
    : `${said}. It is not called better than the field: ${lacking.join(", ")} ${
      lacking.length === 1 ? "was" : "were"
    } not run under these settings.`;
}
