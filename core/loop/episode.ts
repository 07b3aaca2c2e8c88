import { checkStrategy, limitsOf } from "../strategies/compatibility.ts";
import { readableId, strategyKey } from "../strategies/strategy_names.ts";
import type { Trial } from "../schemas/trial.ts";
import { closeTrial, endingOf, openTrial } from "./draft.ts";
import { finishTrial } from "./rungs/climb_rungs.ts";
import type { Proposal } from "./propose.ts";
import { isFinished } from "../resume/replay.ts";
import {
  applyNext,
  evaluateGated,
  evaluateMidway,
  isWhole,
  judge,
  measureSpeed,
} from "./run_trial.ts";
import { closeEpisode } from "./end/close_study.ts";
import { type Draft, type Ending, type Study } from "./study.ts";

/** Opens the trial of a proposal; one that cannot run here has ended at once. */
export async function begin(study: Study, proposal: Proposal): Promise<Draft> {
  const { origin, actions, resolved } = proposal;
  const strategy_id = readableId(study.nextNumber, resolved);
  const strategy = { strategy_id, actions: [...actions], origin };
  const draft = await openTrial(study, strategy, resolved);
  draft.ended = refuse(study, draft);
  return draft;
}

/**
 * The actions that are left, each with its gate; where the study asks for it, quality has one after
 * each as well. What has ended stays as it is, here and below.
 */
export async function apply(study: Study, draft: Draft): Promise<void> {
  const gated = study.input.request.gate_actions === true;
  while (draft.ended === null && !isWhole(draft)) {
    draft.ended = await applyNext(study, draft);
    if (!gated || draft.ended !== null || isWhole(draft)) continue;
    draft.ended = await evaluateMidway(study, draft, study.rungs[0]!);
  }
}

/** The first rung and its gate. */
export async function evaluate(study: Study, draft: Draft): Promise<void> {
  draft.ended ??= await evaluateGated(study, draft, study.rungs[0]!); // a study has one at least
}

/** Speed and memory, the baseline in turn. */
export async function measure(study: Study, draft: Draft): Promise<void> {
  draft.ended ??= await measureSpeed(study, draft, study.input.baseline);
}

/**
 * What the trial teaches: constraints and reward, the rungs above where it may reach the front,
 * the front as it stands then. A trial that waits for a late full evaluation is not closed yet.
 */
export async function learn(study: Study, draft: Draft): Promise<Trial> {
  judge(study, draft, draft.ended);
  if (draft.ended === null) await finishTrial(study, draft);
  else await closeTrial(study, draft, draft.ended);
  const { trial_id, strategy } = draft.trial;
  allowSecondTry(study, trial_id);
  const { sampler, mode } = strategy!.origin; // the baseline is no episode
  await closeEpisode(study, { trial_id, sampler, mode });
  return draft.trial;
}

/** A recipe that the machine failed, not itself, may be proposed once more. */
function allowSecondTry(study: Study, trial_id: string): void {
  const trial = study.trials.find((one) => one.trial_id === trial_id);
  if (trial === undefined || isFinished(trial)) return;
  const key = strategyKey(trial.actions);
  const times = study.trials.filter(({ actions }) => strategyKey(actions) === key).length;
  if (times < 2) study.keys.delete(key);
}

/** What cannot run here is known before any heavy work; a plugin that throws refuses too. */
function refuse(study: Study, draft: Draft): Ending | null {
  const { methods, facts } = study.input;
  const limits = limitsOf(study.spec, study.trials);
  let reason: string;
  try {
    const support = checkStrategy(draft.trial.actions, methods, facts, limits);
    if (support.ok) return null;
    reason = support.reason;
  } catch (error) {
    reason = String(error);
  }
  const strategy = draft.trial.strategy?.strategy_id ?? "";
  study.refused.push({ strategy, reason });
  return endingOf({ kind: "invalid", message: reason, hint: null, phase: "compatibility" });
}
