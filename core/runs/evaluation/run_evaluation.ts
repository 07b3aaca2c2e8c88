import { withinTime } from "../../loop/cost/budget.ts";
import { closeStudy } from "../../loop/end/close_study.ts";
import { addMeasurements, closeTrial, openTrial } from "../../loop/draft.ts";
import { openStudy } from "../../loop/open_study.ts";
import { baselineSize } from "../../loop/size.ts";
import { FULL } from "../../schemas/fidelity.ts";
import { evaluate } from "../../loop/run_trial.ts";
import { cancelled, type Stop, timeIsUp } from "../../loop/stop.ts";
import { baselineOf, type Draft, record, type Study } from "../../loop/study.ts";
import type { StudyInput, StudyPorts, StudyResult } from "../../loop/study_input.ts";
import { EVALUATION_NEEDS } from "./needs.ts";

/**
 * Evaluates a model and compresses nothing: a study of one trial without a strategy, in full. The
 * model lies here or is behind an endpoint. One that was stopped goes on with what was answered.
 */
export async function runEvaluation(input: StudyInput, ports: StudyPorts): Promise<StudyResult> {
  const study = await openStudy(input, ports, EVALUATION_NEEDS);
  const stop = baselineOf(study) === undefined ? await evaluateOnce(study) : DONE;
  return await closeStudy(study, stop, null);
}

const DONE: Stop = { stop: "evaluated", message: "Everything that was asked for is evaluated." };

async function evaluateOnce(study: Study): Promise<Stop> {
  const draft = await openTrial(study, null, []);
  await recordModel(study, draft);
  const ended = await withinTime(study, () => evaluate(study, draft, FULL));
  await closeTrial(study, draft, ended ?? { state: "completed", failure: null });
  if (ended === null) return DONE;
  return cancelled(study) ?? timeIsUp(study) ??
    { stop: "failed", message: ended.failure?.message ?? "The evaluation failed" };
}

/** A model that lies here is an artifact with a size; of one behind a server nothing is known. */
async function recordModel(study: Study, draft: Draft): Promise<void> {
  const { baseline: artifact, facts } = study.input;
  if (facts.model.source === "endpoint") return;
  const { trial_id, study_id } = draft.trial;
  await record(study, { type: "artifact_written", study_id, trial_id, artifact, cached: false });
  await addMeasurements(study, draft, [baselineSize(artifact, facts)]);
}
