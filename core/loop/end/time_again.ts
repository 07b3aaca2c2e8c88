import { comparableStudy } from "../../front/comparable.ts";
import { busyCores } from "../../front/latency_ratio.ts";
import { frontOf } from "../../front/objectives.ts";
import type { Trial } from "../../schemas/trial.ts";
import { trialName } from "../../strategies/strategy_names.ts";
import { estimatePhase, remainingSeconds, SPEED, withinTime } from "../cost/budget.ts";
import { closeEpisode } from "./close_study.ts";
import { closeTrial } from "../draft.ts";
import { judge, measureSpeed } from "../run_trial.ts";
import type { Stop } from "../stop.ts";
import { type Draft, record, type Study } from "../study.ts";

/**
 * Times what the front rests on once more where other work disturbed its timing: the best reward first,
 * while there is time, until a timing is disturbed again. A trial is judged by its new timing, and keeps what
 * it was where that fails.
 */
export async function timeAgain(study: Study, { stop }: Stop): Promise<void> {
  if (stop === "cancelled" || stop === "failed") return;
  for (const trial of disturbed(study)) {
    const late = estimatePhase(study, SPEED) > remainingSeconds(study);
    if (late || study.ports.signal.aborted) return;
    const busy = await timeTrial(study, trial);
    if (busy === null || busy > 0) return;
  }
}

/** Trials of the front whose form no quiet session has timed, best reward first. */
function disturbed({ trials, spec }: Study): Trial[] {
  const isQuiet = (trial: Trial) => busyCores(trial.measurements, spec.runtime) === 0;
  const compared = comparableStudy(trials, spec);
  const quiet = new Set(compared.trials.filter(isQuiet).map(({ latency }) => latency?.form));
  return frontOf(compared).members.map(({ trial }) => trial)
    .filter((trial) => trial.strategy !== null && !isQuiet(trial))
    .filter(({ latency }) => latency !== null && !quiet.has(latency.form))
    .flatMap(({ trial_id }) => trials.find((trial) => trial.trial_id === trial_id) ?? []);
}

/** Cores that other work took this time; null: it could not be timed. */
async function timeTrial(study: Study, trial: Trial): Promise<number | null> {
  const { spec, input: { baseline, study_id, facts } } = study;
  const artifact = study.artifacts.get(trial.artifact_ids.at(-1) ?? "");
  if (artifact === undefined) return null;
  const before = busyCores(trial.measurements, spec.runtime);
  const opened = study.ports.clock.now();
  const begun = { opened, waited: 0, ended: null, held_since: null };
  const draft: Draft = { trial, artifact, model: facts.model, ...begun };
  const ended = await withinTime(study, () => measureSpeed(study, draft, baseline));
  const after = busyCores(draft.trial.measurements, spec.runtime);
  await record(study, {
    type: "alert",
    study_id,
    trial_id: trial.trial_id,
    condition: "timing_disturbed",
    evidence: `${trialName(trial.number)} is on the front, and was timed while other work took ` +
      `${before.toFixed(1)} cores`,
    action: "timed again",
    outcome: ended !== null
      ? `it could not be: ${ended.failure?.message ?? ended.state}; its first figures stand`
      : after > 0
      ? `other work took ${after.toFixed(1)} cores again`
      : "the machine was quiet",
  });
  if (ended !== null) {
    // Figures that were written before it failed are none of the trial's.
    await record(study, { type: "trial_closed", trial });
    return null;
  }
  study.trials.splice(study.trials.indexOf(trial), 1);
  judge(study, draft, null);
  await closeTrial(study, draft, { state: trial.state as "completed", failure: trial.failure });
  const { sampler, mode } = trial.strategy!.origin;
  await closeEpisode(study, { trial_id: trial.trial_id, sampler, mode });
  return after;
}
