import { UsageError } from "../../../core/mod.ts";
import { findTrial } from "../../lab/find_study.ts";
import type { Store } from "../../store/store.ts";
import { compareTrials } from "../view/compare_trials.ts";
import { viewStudy } from "../view/view_study.ts";
import { costsBeside, trialsBeside } from "./beside.ts";

/** Two trials of a store, sample by sample and by what they cost. */
export async function besideTrials(store: Store, first: string, second: string) {
  const [one, other] = [await findTrial(store, first), await findTrial(store, second)];
  const names = [one.trial_id, other.trial_id] as const;
  const compared = await compareTrials(store, ...names);
  if (compared.comparisons.length === 0) {
    throw new UsageError(
      compared.refused.join("\n") || `Cannot compare ${first} with ${second}: no task is common`,
    );
  }
  const found = await Promise.all([one, other].map(async ({ study_id, trial_id }) => {
    const view = await viewStudy(store, study_id);
    return { row: view.rows.find((row) => row.trial_id === trial_id)!, of: view.spec };
  }));
  const [first_of, second_of] = found.map(({ of }) => of.context_tokens);
  // Bytes of two lengths are of two questions.
  const costs = costsBeside(found[0]!.row, found[1]!.row)
    .filter(({ metric }) => first_of === second_of || !metric.endsWith("_at_context"));
  return trialsBeside(names, compared, costs);
}
