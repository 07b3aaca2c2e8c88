import { UsageError } from "../errors.ts";
import type { Sampling, TaskSampling } from "../schemas/request.ts";

/** A task's samples as the backend lists them. */
export interface SamplePool {
  readonly task: string;
  /** Every row number once, in an order that a seed has drawn. */
  readonly order: readonly number[];
  /** The group of every row, by row number, such as an MMLU subject; null: the task has none. */
  readonly groups: readonly string[] | null;
  /** Samples of each rung, cheapest first; null: all. Each rung's are taken among those of the first
   * one after it that takes as many. */
  readonly counts: readonly (number | null)[];
  /** How this task is sampled where not as all are; its limits are counted already. */
  readonly sampling?: TaskSampling;
}

/** The rows of a task that each rung takes, ascending; rungs in the order of its counts. */
export interface ChosenSamples {
  readonly task: string;
  readonly rungs: readonly (readonly number[])[];
}

/** What a study does that says nothing of sampling. */
export const DEFAULT_SAMPLING: Sampling = { strategy: "stratified", shuffle: true };

/**
 * Which rows of every task are evaluated. `stratified` gives the groups of a task equal shares, and
 * the tasks equal shares of `total_limit`; `random` draws from all rows alike; `sequential` takes
 * the first. `limit_per_task` holds for each group of a task (for the task, where it has none);
 * `limit`, a task's own, is in the pools already. `shuffle: false` takes the first rows of each group instead of drawn ones.
 * A rung's rows are chosen among those of the next one by the same strategy. A task with a sampling of
 * its own follows that one, and shares in the study's `total_limit` like the others.
 */
export function chooseSamples(
  pools: readonly SamplePool[],
  sampling: Sampling = DEFAULT_SAMPLING,
): ChosenSamples[] {
  const rules = pools.map((pool) => pool.sampling ?? sampling);
  const limited = pools.map((pool, i) => limitedRows(pool, rules[i]!));
  const counts = pools.map((pool, i) =>
    Math.min(pool.counts.at(-1) ?? Infinity, limited[i]!.length)
  );
  const shares = sampling.total_limit === undefined
    ? counts
    : shareOut(sampling.total_limit, counts, sampling.strategy);
  return pools.map((pool, i) => {
    if (shares[i] === 0) {
      throw new UsageError(
        `Cannot evaluate ${pool.task} as no sample is left for it: total_limit is ` +
          `${sampling.total_limit} for ${pools.length} tasks`,
      );
    }
    const rungs = [take(limited[i]!, shares[i]!, pool.groups, rules[i]!)];
    for (const count of pool.counts.slice(0, -1).reverse()) {
      const wanted = Math.min(count ?? Infinity, shares[i]!);
      const above = rungs.find((rows) => rows.length >= wanted)!; // the last one is
      rungs.unshift(take(above, wanted, pool.groups, rules[i]!));
    }
    return { task: pool.task, rungs: rungs.map((rows) => rows.toSorted((a, b) => a - b)) };
  });
}

/** The rows that may be taken, in the order of taking, at most `limit_per_task` a group. */
function limitedRows(pool: SamplePool, sampling: TaskSampling): number[] {
  const drawn = sampling.shuffle && sampling.strategy !== "sequential";
  const order = drawn ? [...pool.order] : [...pool.order].sort((a, b) => a - b);
  if (sampling.limit_per_task === undefined) return order;
  const taken = new Map<string, number>();
  return order.filter((row) => {
    const group = pool.groups?.[row] ?? "";
    const count = (taken.get(group) ?? 0) + 1;
    taken.set(group, count);
    return count <= sampling.limit_per_task!;
  });
}

/** The first `count` rows of an order; stratified: equal shares of its groups. */
function take(
  order: readonly number[],
  count: number,
  groups: readonly string[] | null,
  { strategy }: TaskSampling,
): number[] {
  if (strategy !== "stratified" || groups === null || count >= order.length) {
    return order.slice(0, count);
  }
  const byGroup = Map.groupBy(order, (row) => groups[row]!);
  const lists = [...byGroup.values()];
  const shares = shareOut(count, lists.map((list) => list.length), "stratified");
  return lists.flatMap((list, i) => list.slice(0, shares[i]));
}

/**
 * Divides `total` among parts that can hold so many. Stratified: equal shares, what a small part
 * cannot hold goes to the others. Random: by their sizes, remainders to the largest fractions.
 * Sequential: the first are filled first.
 */
function shareOut(
  total: number,
  sizes: readonly number[],
  strategy: Sampling["strategy"],
): number[] {
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (total >= all) return [...sizes];
  if (strategy === "sequential") {
    let left = total;
    return sizes.map((size) => {
      const share = Math.min(size, left);
      left -= share;
      return share;
    });
  }
  return strategy === "random" ? proportional(total, sizes, all) : even(total, sizes);
}

function proportional(total: number, sizes: readonly number[], all: number): number[] {
  const exact = sizes.map((size) => total * size / all);
  const shares = exact.map(Math.floor);
  const rest = total - shares.reduce((sum, share) => sum + share, 0);
  const byFraction = exact.map((_, i) => i)
    .sort((i, j) => (exact[j]! - shares[j]!) - (exact[i]! - shares[i]!) || i - j);
  for (const i of byFraction.slice(0, rest)) shares[i]! += 1;
  return shares;
}

function even(total: number, sizes: readonly number[]): number[] {
  const shares = sizes.map(() => 0);
  let left = total;
  while (left > 0) {
    const open = sizes.map((_, i) => i).filter((i) => shares[i]! < sizes[i]!);
    const each = Math.max(1, Math.floor(left / open.length));
    for (const i of open) {
      const share = Math.min(each, sizes[i]! - shares[i]!, left);
      shares[i]! += share;
      left -= share;
    }
  }
  return shares;
}
