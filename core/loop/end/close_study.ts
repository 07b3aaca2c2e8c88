import { recommend } from "../../advice/recommend.ts";
import type { Episode } from "../../schemas/journal.ts";
import { spentOf } from "../cost/budget.ts";
import type { Stop } from "../stop.ts";
import {
  baselineOf,
  currentFront,
  estimateFront,
  nextEpisode,
  record,
  type Study,
  visibleTrials,
} from "../study.ts";
import type { StudyResult } from "../study_input.ts";

/** Closes a search: what it recommends is chosen of its front. */
export async function closeSearch(study: Study, stop: Stop): Promise<StudyResult> {
  const { spec, trials, input: { facts, request } } = study;
  const baseline = baselineOf(study);
  const recommendation = baseline === undefined
    ? null
    : recommend({ spec, facts, baseline, trials, ...stop, request });
  const closed = await closeStudy(study, stop, recommendation?.trial_id ?? null);
  return { ...closed, recommendation };
}

/**
 * Writes that a study ended, and gives the result. `recommended`: the trial that was chosen, whoever
 * did; null: none was.
 */
export async function closeStudy(
  study: Study,
  { stop, message }: Stop,
  recommended: string | null,
): Promise<StudyResult> {
  const { spec, trials, input: { study_id } } = study;
  await record(study, {
    type: "study_closed",
    study_id,
    stop,
    message,
    recommended,
  });
  const { ids, hypervolume } = currentFront(study);
  const { probability, hypervolume_interval } = estimateFront(study);
  return {
    study_id,
    stop,
    message,
    spec,
    trials: [...trials].sort((a, b) => a.number - b.number),
    recommendation: null,
    front: ids,
    front_probability: Object.fromEntries(probability),
    hypervolume,
    hypervolume_interval,
  };
}

/** Closes one turn of the loop with the front as it stands. */
export async function closeEpisode(
  study: Study,
  turn: Pick<Episode, "trial_id" | "sampler" | "mode">,
): Promise<void> {
  const { ids, hypervolume } = currentFront(study);
  const { probability, hypervolume_interval, neighbours, groups } = estimateFront(study);
  const trial = visibleTrials(study).find((one) => one.trial_id === turn.trial_id);
  const episode: Episode = {
    study_id: study.input.study_id,
    number: nextEpisode(study),
    ...turn,
    reward: trial?.reward ?? null,
    hypervolume,
    hypervolume_interval: hypervolume_interval && [...hypervolume_interval],
    front: ids,
    front_probability: Object.fromEntries(probability),
    neighbours: [...neighbours],
    groups: groups.map((members) => [...members]),
    spent: spentOf(study),
    refused: study.refused.splice(0),
    ...beliefsOf(study),
  };
  study.episodes.push(episode);
  await record(study, { type: "episode_closed", episode });
}

/** What a sampler that goes by beliefs thinks of each method now; one that fails at it has none. */
function beliefsOf(study: Study): Pick<Episode, "beliefs"> {
  const { samplers, facts, methods } = study.input;
  const believing = samplers.find(({ beliefs }) => beliefs !== undefined);
  if (believing === undefined) return {};
  const { spec, earlier } = study;
  try {
    const history = { facts, spec, methods, trials: visibleTrials(study), earlier };
    return { beliefs: believing.beliefs!(history) };
  } catch {
    return {}; // a third party's; its proposals fail in words of their own
  }
}
