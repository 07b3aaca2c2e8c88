import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { openStore } from "../store/store.ts";
import { textTable } from "../terminal/table.ts";
import { compareTrials, type TrialsCompared } from "../view/compare_trials.ts";
import { number } from "../view/number_text.ts";

/** The comparison as a terminal shows it: the second trial against the first. */
export function comparisonText({ comparisons, refused }: TrialsCompared): string {
  const rows = comparisons.map((one) => [
    one.task,
    one.metric,
    number(one.reference),
    number(one.score),
    `${number(one.difference)} [${one.interval.map((end) => number(end)).join(", ")}]`,
    number(one.p_adjusted, 2),
    String(one.n),
  ]);
  const head = ["task", "metric", "first", "second", "difference [95 %]", "p (Holm)", "n"];
  const table = rows.length === 0 ? [] : [textTable(head, rows)];
  return [...table, ...refused].join("\n");
}

/** `pare compare`: two trials of any studies, sample by sample, where the protocols are the same. */
export async function compareCommand(
  first: string,
  second: string,
  options: { store?: string },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const compared = await compareTrials(store, first, second);
  if (compared.comparisons.length === 0) {
    throw new UsageError(
      compared.refused.join("\n") || `Cannot compare ${first} with ${second}: no task is common`,
    );
  }
  console.log(comparisonText(compared));
}
