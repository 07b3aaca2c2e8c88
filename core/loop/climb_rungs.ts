import { type Comparable, comparableStudy } from "../front/comparable.ts";
import { frontOf } from "../front/objectives.ts";
import { mayReachFront, type RungEvidence } from "../front/promotion.ts";
import { quantile } from "../evidence/statistics.ts";
import { FULL, isDecisive } from "../schemas/fidelity.ts";
import type { Trial } from "../schemas/trial.ts";
import { heightOf } from "../spec/rungs.ts";
import { estimatePhase, remainingSeconds } from "./budget.ts";
import { closeTrial, holdTrial, takeUp } from "./draft.ts";
import { evaluate, evaluateGated, judge } from "./run_trial.ts";
import type { Stop } from "./stop.ts";
import { closeEpisode } from "./close_study.ts";
import { type Draft, type Ending, type Study, visibleTrials } from "./study.ts";
import { DEFAULT_FULL_EVALUATIONS } from "../spec/limits.ts";

const FINISHED = { state: "completed", failure: null } as const;

/**
 * Decides what follows the first rung. A trial climbs while it may reach the front: one that is
 * surely dominated ends where it stands, one that loses too much on a rung between ends at its gate.
 * Full evaluations, on the last rung, are for the best K of those that come so far, and nobody knows
 * at first which those are, so:
 *
 * - the first half of K goes at once to any that may;
 * - the second half goes at once to those whose reward is at least the median so far; the others
 *   are held open, and when the search ends the best rewards among them take what is left of K.
 */
export async function finishTrial(study: Study, draft: Draft): Promise<void> {
  const ended = await climbBetween(study, draft);
  const next = nextRung(study, draft.trial);
  if (ended !== null || next === undefined || !mayClimb(study, draft.trial, next)) {
    await closeTrial(study, draft, ended ?? FINISHED);
  } else if (study.fullEvaluations < fullLimit(study) / 2 || isAboveMedian(study, draft.trial)) {
    await evaluateFull(study, draft);
  } else {
    holdTrial(study, draft);
  }
}

/** The rungs below the last, each with its gate, as far as a trial may. Why it ended; null: it did not. */
async function climbBetween(study: Study, draft: Draft): Promise<Ending | null> {
  let next = nextRung(study, draft.trial);
  while (next !== undefined && !isDecisive(next) && mayClimb(study, draft.trial, next)) {
    const ended = await evaluateGated(study, draft, next);
    judge(study, draft, ended);
    if (ended !== null) return ended;
    next = nextRung(study, draft.trial);
  }
  return null;
}

/** The rung above the one that a trial reached; undefined: there is none in this study. */
function nextRung({ rungs, spec }: Study, { fidelity }: Trial): string | undefined {
  const reached = heightOf(spec, fidelity);
  return rungs.find((rung) => heightOf(spec, rung) > reached);
}

/** Whether a rung is worth its time: the front is in reach, in quality, in time and in number. */
function mayClimb(study: Study, trial: Trial, next: string): boolean {
  return study.fullEvaluations < fullLimit(study) && isPromising(study, trial) &&
    estimatePhase(study, next) <= remainingSeconds(study);
}

function fullLimit({ input }: Study): number {
  return input.request.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
}

/** At the end of a search: the best of those held take the full evaluations left. */
export async function finishHeld(study: Study, { stop }: Stop): Promise<void> {
  const over = stop === "cancelled" || stop === "failed" || stop === "target";
  const waiting = study.held.splice(0).sort((a, b) => rewardOf(b.trial) - rewardOf(a.trial));
  for (const draft of waiting) {
    takeUp(study, draft);
    const { trial_id, strategy } = draft.trial;
    if (!over && !study.ports.signal.aborted && mayClimb(study, draft.trial, FULL)) {
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
  const ended = await evaluate(study, draft, FULL);
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

/** Whether what is known of a trial lets it hope for the front. */
export function isPromising(study: Study, trial: Trial): boolean {
  const compared = comparableStudy([...study.trials, trial], study.spec);
  const own = evidenceOf(study, compared.trials.at(-1)!);
  if (own === null) return false;
  const members = frontOf(compared).members.flatMap((one) => evidenceOf(study, one.trial) ?? []);
  return mayReachFront(own, members, compared.spec);
}

function evidenceOf(study: Study, trial: Comparable): RungEvidence | null {
  const evaluations = study.evaluations.get(trial.trial_id);
  return evaluations === undefined ? null : { ...trial, evaluations };
}
