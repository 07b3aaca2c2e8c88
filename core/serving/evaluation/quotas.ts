import { DATASET_TYPES, type DatasetEntry, type EvaluationConfig } from "./evaluation_config.ts";

/** How many samples of a dataset are asked, and what its score weighs. */
export interface Quota {
  readonly type: string;
  /** Null: all that it has. */
  readonly samples: number | null;
  /** Share of the overall score: the weights of all that are asked, made to add up to 1. */
  readonly weight: number;
}

/** Tasks that a dataset is made of, as far as its entry says. */
function tasksOf(entry: DatasetEntry): number {
  const lengths = ["task_types", "languages", "splits"].map((field) => {
    const value = entry[field];
    return Array.isArray(value) ? value.length : 1;
  });
  return lengths.reduce((product, one) => product * one, 1);
}

/** Samples that an entry allows at most; infinite: it says nothing. */
function most(entry: DatasetEntry): number {
  // Of a task by name nobody knows here how many groups it has.
  const by_task = entry.limit_per_task === undefined || !DATASET_TYPES.includes(entry.type)
    ? Infinity
    : entry.limit_per_task * tasksOf(entry);
  return Math.min(entry.limit ?? Infinity, by_task);
}

/**
 * Whole shares of a total by weights, none above its most; what a full one leaves goes to the others.
 * Remainders are given to the largest, the first of equals: the shares add up to the total exactly, or
 * to all that there is.
 */
function shareOut(total: number, caps: readonly number[], weights: readonly number[]): number[] {
  const shares = caps.map(() => 0);
  let left = total;
  while (left > 0) {
    const open = caps.flatMap((cap, i) => shares[i]! < cap ? [i] : []);
    if (open.length === 0) break;
    const sum = open.reduce((all, i) => all + weights[i]!, 0);
    const wanted = open.map((i) => ({ i, exact: left * weights[i]! / sum }));
    const whole = wanted.map(({ i, exact }) => Math.min(Math.floor(exact), caps[i]! - shares[i]!));
    const given = whole.reduce((all, one) => all + one, 0);
    if (given > 0) {
      wanted.forEach(({ i }, index) => shares[i]! += whole[index]!);
      left -= given;
      continue;
    }
    const [next] = wanted.toSorted((a, b) => b.exact - a.exact || a.i - b.i);
    shares[next!.i]! += 1;
    left -= 1;
  }
  return shares;
}

/**
 * Quotas before anything is asked. `stratified` gives datasets equal shares, `weighted` shares by their
 * weights, `sequential` takes them in turn until the total is reached; `random` draws from all alike, by
 * what each has at most.
 */
export function quotasOf(
  { datasets, sampling: { strategy, total_limit } }: Pick<
    EvaluationConfig,
    "datasets" | "sampling"
  >,
): Quota[] {
  const caps = datasets.map(most);
  const sum = datasets.reduce((all, { weight }) => all + weight, 0);
  const even = datasets.map(({ weight }) => strategy === "weighted" ? weight : 1);
  let rest = total_limit ?? Infinity;
  const inTurn = caps.map((cap) => {
    const taken = Math.min(cap, rest);
    rest -= taken;
    return taken;
  });
  const all = caps.every(Number.isFinite) ? caps.reduce((a, b) => a + b, 0) : Infinity;
  const by_size = strategy === "random" && Number.isFinite(all) ? caps : even;
  const shares = total_limit === undefined || total_limit >= all
    ? caps
    : strategy === "sequential"
    ? inTurn
    : shareOut(total_limit, caps, by_size);
  return datasets.map(({ type, weight }, i) => ({
    type,
    samples: Number.isFinite(shares[i]!) ? shares[i]! : null,
    weight: weight / sum,
  }));
}
