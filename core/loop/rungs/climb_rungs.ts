import { quantile } from "../../evidence/statistics.ts";
import { CHECKED_GATE, type StopRule } from "../../front/stop_rule.ts";
import { FULL, isDecisive } from "../../schemas/fidelity.ts";
import type { Trial } from "../../schemas/trial.ts";
import { DEFAULT_FULL_EVALUATIONS } from "../../spec/limits.ts";
import { heightOf } from "../../schemas/rungs.ts";
import { estimateRung, remainingSeconds, withinBeyond } from "../cost/budget.ts";
import { closeEpisode } from "../end/close_study.ts";
import { closeTrial, holdTrial, takeUp } from "../draft.ts";
import { evaluate, evaluateGated, judge } from "../run_trial.ts";
import type { Stop } from "../stop.ts";
import { addGate, type Draft, type Study, visibleTrials } from "../study.ts";
import { decideJoining } from "./joining.ts";

const FINISHED = { state: "completed", failure: null } as const;

/**
 * Decides what follows the first rung. A trial climbs while it may join the front (`stopRule`): one
 * that is unlikely to ends where it stands, one that loses too much on a rung between at its gate.
 * Full evaluations, on the last rung, are for the best K of those that come so far, and nobody knows
 * at first which those are, so:
 *
 * - the first half of K goes at once to any that may;
 * - the second half goes at once to those whose reward is at least the median so far; the others
 *   are held open, and when the search ends the best rewards among them take what is left of K.
 */
export async function finishTrial(study: Study, draft: Draft): Promise<void> {
  for (;;) {
    const next = nextRung(study, draft.trial);
    const decision = next === undefined || !isAffordable(study, draft.trial, next)
      ? "stop"
      : decide(study, draft);
    if (next === undefined || decision === "stop") {
      await closeTrial(study, draft, FINISHED);
      return;
    }
    const at_once = study.fullEvaluations < fullLimit(study) / 2 || isChecked(draft.trial) ||
      isAboveMedian(study, draft.trial);
    if (decision === "wait" || (isDecisive(next) && !at_once)) return holdTrial(study, draft);
    if (isDecisive(next)) return await evaluateFull(study, draft);
    const ended = await evaluateGated(study, draft, next);
    judge(study, draft, ended);
    if (ended !== null) {
      await closeTrial(study, draft, ended);
      return;
    }
  }
}

function isChecked({ gates }: Trial): boolean {
  return gates.some(({ gate }) => gate === CHECKED_GATE);
}

/** The rung above the one that a trial reached; undefined: there is none in this study. */
function nextRung({ rungs, spec }: Study, { fidelity }: Trial): string | undefined {
  const reached = heightOf(spec, fidelity);
  return rungs.find((rung) => heightOf(spec, rung) > reached);
}

/** Whether there is a full evaluation left and the time for a rung. */
function isAffordable(study: Study, { actions }: Trial, next: string): boolean {
  return study.fullEvaluations < fullLimit(study) &&
    estimateRung(study, next, actions) <= remainingSeconds(study);
}

export function fullLimit({ input }: Study): number {
  return input.request.max_full_evaluations ?? DEFAULT_FULL_EVALUATIONS;
}

/** At the end of a search: the best of those held take the full evaluations left. */
export async function finishHeld(study: Study, { stop }: Stop): Promise<void> {
  const over = stop === "cancelled" || stop === "failed" || stop === "target";
  const waiting = study.held.splice(0).sort((a, b) => rewardOf(b.trial) - rewardOf(a.trial));
  await study.slots.fill(async () => {
    for (let draft = waiting.shift(); draft !== undefined; draft = waiting.shift()) {
      takeUp(study, draft);
      const held = draft;
      const open = !over && !study.ports.signal.aborted && isAffordable(study, draft.trial, FULL);
      if (open && decide(study, draft, { last: true }) !== "stop") {
        return () => evaluateHeld(study, held);
      }
      await closeTrial(study, draft, FINISHED);
    }
    return null;
  });
}

async function evaluateHeld(study: Study, draft: Draft): Promise<void> {
  const said = () => estimateRung(study, FULL, draft.trial.actions);
  await withinBeyond(study, said, () => evaluateFull(study, draft));
  const { trial_id, strategy } = draft.trial;
  const mode = strategy?.origin.mode ?? "exploit";
  await closeEpisode(study, { trial_id, sampler: strategy?.origin.sampler ?? "", mode });
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

/** By the rule of stops; what it decides is kept with the trial. */
function decide(study: Study, draft: Draft, { last = false } = {}): StopRule["decision"] {
  const { decision, gate } = decideJoining(study, draft.trial, { last });
  if (gate !== null) addGate(draft, gate);
  return decision;
}
