import { type Comparable, comparableStudy } from "../front/comparable.ts";
import { frontOf } from "../front/objectives.ts";
import { mayReachFront, type ProxyEvidence } from "../front/promotion.ts";
import { quantile } from "../evidence/statistics.ts";
import type { Trial } from "../schemas/trial.ts";
import { estimateFull, remainingSeconds } from "./budget.ts";
import { closeTrial, holdTrial, takeUp } from "./draft.ts";
import { evaluate, judge } from "./run_trial.ts";
import type { Stop } from "./stop.ts";
import { closeEpisode, type Draft, type Study, visibleTrials } from "./study.ts";
import { DEFAULT_FULL_EVALUATIONS } from "../spec/limits.ts";

const FINISHED = { state: "completed", failure: null } as const;

/**
 * Decides what follows the proxy. Full evaluations are for the best K trials that may reach the
 * front, and nobody knows at first which those are, so:
 *
 * - a trial that cannot reach the front ends as a proxy result;
 * - the first half of K goes at once to any that may;
 * - the second half goes at once to those whose reward is at least the median so far; the others
 *   are held open, and when the search ends the best rewards among them take what is left of K.
 */
export async function finishTrial(study: Study, draft: Draft): Promise<void> {
  const total = study.input.request.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
  if (draft.trial.fidelity === "full") {
    await closeTrial(study, draft, FINISHED); // somebody has evaluated it in full by hand
  } else if (study.input.request.fidelity !== undefined) {
    // Either nothing is to be evaluated in full, or this trial has been.
    await closeTrial(study, draft, FINISHED);
  } else if (
    study.fullEvaluations >= total || !isPromising(study, draft.trial) || !fitsBudget(study)
  ) {
    await closeTrial(study, draft, FINISHED);
  } else if (study.fullEvaluations < total / 2 || isAboveMedian(study, draft.trial)) {
    await evaluateFull(study, draft);
  } else {
    holdTrial(study, draft);
  }
}

function fitsBudget(study: Study): boolean {
  return estimateFull(study) <= remainingSeconds(study);
}

/** At the end of a search: the best of those held take the full evaluations left. */
export async function finishHeld(study: Study, { stop }: Stop): Promise<void> {
  const total = study.input.request.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
  const over = stop === "cancelled" || stop === "failed" || stop === "target";
  const waiting = study.held.splice(0).sort((a, b) => rewardOf(b.trial) - rewardOf(a.trial));
  for (const draft of waiting) {
    takeUp(study, draft);
    const { trial_id, strategy } = draft.trial;
    const left = study.fullEvaluations < total && !over && !study.ports.signal.aborted;
    if (left && isPromising(study, draft.trial) && fitsBudget(study)) {
      await evaluateFull(study, draft);
      const mode = strategy?.origin.mode ?? "exploit";
      await closeEpisode(study, { trial_id, sampler: strategy?.origin.sampler ?? "", mode });
    } else {
      await closeTrial(study, draft, FINISHED);
    }
  }
}

async function evaluateFull(study: Study, draft: Draft): Promise<void> {
  study.fullEvaluations++;
  const ended = await evaluate(study, draft, "full");
  judge(study, draft, ended);
  await closeTrial(study, draft, ended ?? FINISHED);
}

function rewardOf(trial: Trial): number {
  return trial.reward?.value ?? -Infinity;
}

function isAboveMedian(study: Study, trial: Trial): boolean {
  const rewards = visibleTrials(study)
    .filter((other) => other.strategy !== null && other.reward !== null)
    .map(rewardOf).sort((a, b) => a - b);
  return rewards.length === 0 || rewardOf(trial) >= quantile(rewards, 0.5);
}

/** Whether its proxy lets a trial hope for the front. */
export function isPromising(study: Study, trial: Trial): boolean {
  const compared = comparableStudy([...study.trials, trial], study.spec);
  const own = proxyEvidence(study, compared.trials.at(-1)!);
  if (own === null) return false;
  const members = frontOf(compared).members.flatMap((one) => proxyEvidence(study, one.trial) ?? []);
  return mayReachFront(own, members, compared.spec);
}

function proxyEvidence(study: Study, trial: Comparable): ProxyEvidence | null {
  const proxy = study.evaluations.get(trial.trial_id)?.proxy;
  return proxy === undefined ? null : { ...trial, proxy };
}
