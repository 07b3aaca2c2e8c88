import { comparableStudy } from "../front/comparable.ts";
import { frontProbability } from "../front/front_probability.ts";
import { frontOf } from "../front/objectives.ts";
import { FULL } from "../schemas/fidelity.ts";
import { recommend } from "../advice/recommend.ts";
import { streamRandom } from "../random.ts";
import type { Stop } from "./stop.ts";
import { baselineOf, currentFront, record, type Study } from "./study.ts";
import type { StudyResult } from "./study_input.ts";

/** Says what the study found, writes that it ended, and gives the result. */
export async function closeStudy(study: Study, { stop, message }: Stop): Promise<StudyResult> {
  const { spec, trials, input: { study_id, facts, request } } = study;
  const baseline = baselineOf(study);
  const recommendation = baseline === undefined || study.input.request.evaluation !== undefined
    ? null
    : recommend({ spec, facts, baseline, trials, stop, request });
  await record(study, {
    type: "study_closed",
    study_id,
    stop,
    message,
    recommended: recommendation?.trial_id ?? null,
  });
  const { ids, hypervolume } = currentFront(study);
  return {
    study_id,
    stop,
    message,
    spec,
    trials: [...trials].sort((a, b) => a.number - b.number),
    recommendation,
    front: ids,
    front_probability: probabilities(study),
    hypervolume,
  };
}

function probabilities(study: Study): Record<string, number> {
  const compared = comparableStudy(study.trials, study.spec);
  const { members, dominated } = frontOf(compared);
  const contenders = [...members, ...dominated].flatMap(({ trial }) => {
    const full = study.evaluations.get(trial.trial_id)?.get(FULL);
    return full === undefined ? [] : [{ trial, samples: full.samples }];
  });
  const random = streamRandom(study.input.request.seed, "front probability");
  return Object.fromEntries(frontProbability(contenders, compared.spec, random));
}
