import { comparableStudy, replayStudy, type Weighed, withNewestScores } from "../../../core/mod.ts";
import { parseObjectives } from "../../ground/terminal/parse_values.ts";
import { weighView } from "../../show/weight_profiles.ts";
import type { BoardStores } from "../board_stores.ts";

/** What other weights would pick of a study, as `pare weigh` says it. */
export async function weighStudy(
  stores: BoardStores,
  study_id: string,
  weights: string,
): Promise<Weighed> {
  const given = parseObjectives(weights, "weights");
  const store = await stores.of(study_id);
  const study = replayStudy(await store.journalOf(study_id), study_id);
  if (study === null) throw new Error(`the journal has no opening of ${study_id}`);
  const { request, facts, spec } = study.opened;
  const { trials } = comparableStudy(withNewestScores(study).trials, spec);
  return weighView({ study_id, spec, facts, trials, request }, given);
}
