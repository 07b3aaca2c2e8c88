import { UsageError } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { openStore } from "../../store/store.ts";
import { besideText, studiesBeside, studiesText } from "../../show/json/beside.ts";
import { besideTrials } from "../../show/json/beside_trials.ts";
import { jsonText } from "../../show/json/print_json.ts";

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
