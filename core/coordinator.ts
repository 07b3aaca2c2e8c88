import { closeStudy } from "./loop/close_study.ts";
import { closeTrial, type Ending, endingOf, openTrial } from "./loop/draft.ts";
import { earlierProposals } from "./loop/earlier_trials.ts";
import { finishHeld, finishTrial } from "./loop/full_evaluation.ts";
import { openStudy } from "./loop/open_study.ts";
import { type Proposal, propose } from "./loop/propose.ts";
import { isFinished } from "./loop/replay.ts";
import { ensureBaseline } from "./loop/run_baseline.ts";
import { applyActions, evaluateFirst, judge, measureSpeed } from "./loop/run_trial.ts";
import { cancelled, type Stop, stopNow } from "./loop/stop.ts";
import { closeEpisode, type Draft, type Study } from "./loop/study.ts";
import type { StudyInput, StudyPorts, StudyResult } from "./loop/study_input.ts";
import { checkStrategy } from "./strategies/compatibility.ts";
import { readableId, strategyKey } from "./strategies/strategy_names.ts";

/**
 * Runs a study to its end, or goes on with one: baseline, the user's strategies, seeds, then
 * episodes of the samplers until something stops it. Every step is in the journal before the next
 * begins. Throws on a user's mistake, before anything is written; what the machine does wrong ends
 * a trial, or the study under its reason.
 */
export async function runStudy(input: StudyInput, ports: StudyPorts): Promise<StudyResult> {
  const study = await openStudy(input, ports);
  const stop = await ensureBaseline(study) ?? await search(study);
  await finishHeld(study, stop);
  await finishEarlier(study, stop);
  return await closeStudy(study, stop);
}

/** Propose, apply, evaluate, learn: one episode a turn. */
async function search(study: Study): Promise<Stop> {
  for (;;) {
    const stop = stopNow(study);
    if (stop !== null) return stop;
    const proposal = await propose(study);
    if (typeof proposal === "string") {
      return stopNow(study) ?? await nothingLeft(study, proposal);
    }
    // A sampler that waits for something may have outlasted the study.
    const late = cancelled(study);
    if (late !== null) return late;
    const trial_id = await runProposal(study, proposal);
    allowSecondTry(study, trial_id);
    const { sampler, mode } = proposal.origin;
    await closeEpisode(study, { trial_id, sampler, mode });
  }
}

/** What earlier runs left on the proxy and a larger limit lets through now. */
async function finishEarlier(study: Study, stop: Stop): Promise<void> {
  for (const proposal of earlierProposals(study, stop)) {
    const trial_id = await runProposal(study, proposal);
    const { sampler, mode } = proposal.origin;
    await closeEpisode(study, { trial_id, sampler, mode });
  }
  await finishHeld(study, stop);
}

async function runProposal(study: Study, proposal: Proposal): Promise<string> {
  const strategy_id = readableId(study.nextNumber, proposal.resolved);
  const { origin, resolved } = proposal;
  const strategy = { strategy_id, actions: [...proposal.actions], origin };
  const draft = await openTrial(study, strategy, resolved);
  const ended = refuse(study, draft) ?? await applyActions(study, draft) ??
    await evaluateFirst(study, draft) ??
    await measureSpeed(study, draft, study.input.baseline);
  judge(study, draft, ended);
  if (ended === null) await finishTrial(study, draft);
  else await closeTrial(study, draft, ended);
  return draft.trial.trial_id;
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
  const { max_vram_gb } = study.spec.constraints;
  let reason: string;
  try {
    const support = checkStrategy(draft.trial.actions, methods, facts, { max_vram_gb });
    if (support.ok) return null;
    reason = support.reason;
  } catch (error) {
    reason = String(error);
  }
  const strategy = draft.trial.strategy?.strategy_id ?? "";
  study.refused.push({ strategy, reason });
  return endingOf({ kind: "invalid", message: reason, hint: null, stage: "compatibility" });
}

/** The end of a search that found nothing more to run; what was refused last is told too. */
async function nothingLeft(study: Study, stop: "budget" | "exhausted"): Promise<Stop> {
  if (study.refused.length > 0) {
    await closeEpisode(study, { trial_id: null, sampler: "none", mode: "explore" });
  }
  return {
    stop,
    message: stop === "budget"
      ? "What is left of the budget is too short for another trial."
      : "The samplers have nothing left to try.",
  };
}
