import { LIMIT_BEHIND, resumeCommand } from "../advice/advice.ts";
import { rewardOf } from "../front/reward.ts";
import { FULL } from "../schemas/fidelity.ts";
import { withinTime } from "./cost/budget.ts";
import { addMeasurements, closeTrial, endingOf, openTrial } from "./draft.ts";
import { evaluate, measureSpeed } from "./run_trial.ts";
import { baselineSize, sizesAtContext } from "./size.ts";
import { cancelled, type Stop, timeIsUp } from "./stop.ts";
import { baselineOf, type Draft, type Ending, record, type Study } from "./study.ts";

/**
 * Measures the uncompressed model on the study's rungs and alone in the runtime: what every trial
 * is compared with. A study that has its baseline already keeps it. Null: there is one.
 */
export async function ensureBaseline(study: Study): Promise<Stop | null> {
  if (baselineOf(study) !== undefined) return null;
  const late = timeIsUp(study);
  if (late !== null) return nothingCompared(study, late);
  const draft = await openTrial(study, null, []);
  const { trial_id, study_id } = draft.trial;
  const artifact = study.input.baseline;
  await record(study, { type: "artifact_written", study_id, trial_id, artifact, cached: false });
  const size = baselineSize(artifact, study.input.facts);
  await addMeasurements(study, draft, [size, ...sizesAtContext(size, [], study)]);
  const ended = await withinTime(study, () => measure(study, draft));
  if (ended === null) {
    setReward(study, draft);
    await closeTrial(study, draft, { state: "completed", failure: null });
    return null;
  }
  const closed = await closeTrial(study, draft, ended);
  const stopped = cancelled(study);
  if (stopped !== null) return stopped;
  const used = closed.state === "cancelled" ? timeIsUp(study) : null;
  if (used !== null) return nothingCompared(study, used);
  const failure = ended.failure === null ? "" : `: ${ended.failure.message}`;
  return { stop: "failed", message: `The baseline could not be measured${failure}` };
}

/** What to do about an end that comes before there is anything to compare with. */
function nothingCompared({ input }: Study, { stop, message }: Stop): Stop {
  const limit = LIMIT_BEHIND[stop] ?? "budget_seconds";
  return {
    stop,
    message: `${message} The baseline is not measured yet, so nothing is compared: ` +
      `${resumeCommand(input, input.request, limit)} goes on.`,
  };
}

async function measure(study: Study, draft: Draft): Promise<Ending | null> {
  for (const fidelity of study.rungs) {
    const ended = outOfTime(study, fidelity) ?? await evaluate(study, draft, fidelity);
    if (ended !== null) return ended;
  }
  return outOfTime(study, "speed") ?? await measureSpeed(study, draft, null);
}

function outOfTime(study: Study, phase: string): Ending | null {
  const up = timeIsUp(study);
  return up === null ? null : endingOf({
    kind: "cancelled",
    message: `${up.message} It ended before ${phase}`,
    hint: "Resume the study with more of it",
    phase,
  });
}

/** The reward of changing nothing: what a trial has to beat. Constraints do not judge the baseline. */
function setReward(study: Study, draft: Draft): void {
  const { measurements } = draft.trial;
  const reward = rewardOf({
    spec: study.spec,
    facts: study.input.facts,
    fidelity: draft.trial.fidelity ?? FULL,
    baseline: measurements,
    measurements,
    constraints: [],
  });
  draft.trial = { ...draft.trial, reward };
}
