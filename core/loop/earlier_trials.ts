import { isDecisive } from "../schemas/fidelity.ts";
import type { Trial } from "../schemas/trial.ts";
import { resolveActions } from "../strategies/resolve_action.ts";
import { strategyKey, trialName } from "../strategies/strategy_names.ts";
import { estimateWhole, remainingSeconds } from "./cost/budget.ts";
import { fullLimit } from "./rungs/climb_rungs.ts";
import { isPromising } from "./rungs/joining.ts";
import type { Proposal } from "./propose.ts";
import type { Stop } from "./stop.ts";
import type { Study } from "./study.ts";
import { toldBeforehand } from "./told_beforehand.ts";

/**
 * What an earlier run of the study left below the last rung and its limits of today let through: those
 * that may reach the front, best reward first. A closed trial is frozen, so that each is run under
 * a new number; its artifact and its answers so far are found, not made again.
 */
export function* earlierProposals(
  study: Study,
  { stop }: Stop,
): Generator<Proposal, undefined> {
  const { request, methods, facts } = study.input;
  if (request.fidelity !== undefined || stop === "cancelled" || stop === "failed") return;
  for (const trial of waiting(study)) {
    if (study.ports.signal.aborted || study.fullEvaluations >= fullLimit(study)) return;
    if (!isPromising(study, trial)) continue;
    const actions = trial.strategy!.actions;
    const resolved = resolveActions(actions, methods, facts, trial.strategy!.origin.mode);
    if (strategyKey(resolved) !== strategyKey(trial.actions)) continue; // "auto" is another today
    if (estimateWhole(study, resolved) > remainingSeconds(study)) continue;
    const reason = `${trialName(trial.number)} again, now evaluated in full`;
    const origin = { ...trial.strategy!.origin, reason };
    yield { actions, resolved, origin, beforehand: toldBeforehand(study, resolved) };
  }
}

/** Completed below the last rung in an earlier run, and in none evaluated in full. */
function waiting(study: Study): Trial[] {
  const done = new Set(
    study.trials.filter(({ fidelity }) => isDecisive(fidelity)).map(({ actions }) =>
      strategyKey(actions)
    ),
  );
  const reward = (trial: Trial) => trial.reward?.value ?? -Infinity;
  return study.trials.filter((trial) =>
    trial.number < study.firstNumber && trial.strategy !== null && trial.state === "completed" &&
    trial.fidelity !== null && !isDecisive(trial.fidelity) &&
    !done.has(strategyKey(trial.actions))
  ).sort((a, b) => reward(b) - reward(a));
}
