import { UsageError } from "../../../core/mod.ts";
import { findTrial } from "../../lab/find_study.ts";
import { findHome } from "../../ground/home.ts";
import { openStore, type Store } from "../../store/store.ts";
import { viewStudy } from "../../session/study_session.ts";
import { compareTrials } from "../../show/view/compare_trials.ts";
import {
  besideText,
  costsBeside,
  studiesBeside,
  studiesText,
  trialsBeside,
} from "../../show/json/beside.ts";
import { jsonText } from "../../show/json/print_json.ts";

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
  const rows = await Promise.all([one, other].map(async ({ study_id, trial_id }) => {
    const view = await viewStudy(store, study_id);
    return view.rows.find((row) => row.trial_id === trial_id)!;
  }));
  return trialsBeside(names, compared, costsBeside(rows[0]!, rows[1]!));
}

/**
 * `pare compare`: two trials of any studies, sample by sample where the protocols are the same, and
 * what they cost; or two studies.
 */
export async function compareCommand(
  first: string,
  second: string,
  options: { store?: string; json?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const studies = await store.studyIds();
  if (studies.includes(first) !== studies.includes(second)) {
    const [study, other] = studies.includes(first) ? [first, second] : [second, first];
    throw new UsageError(
      `Cannot compare the study ${study} with ${other}: name two studies, or two trials`,
    );
  }
  if (studies.includes(first)) {
    const beside = await studiesBeside(store, first, second);
    return console.log(options.json ? jsonText("studies_beside", beside) : studiesText(beside));
  }
  const beside = await besideTrials(store, first, second);
  console.log(options.json ? jsonText("trials_beside", beside) : besideText(beside));
}
