import type { Sampler } from "../contract/plugin.ts";
import type { Action, Origin, ResolvedAction } from "../schemas/action.ts";
import type { Trial } from "../schemas/trial.ts";
import type { Beforehand } from "../strategies/beforehand.ts";
import { resolveActions } from "../strategies/resolve_action.ts";
import { strategyKey, strategyWords } from "../strategies/strategy_names.ts";
import { askSampler } from "./ask_sampler.ts";
import { estimateTrial, remainingSeconds } from "./cost/budget.ts";
import { stopNow } from "./stop.ts";
import { nextEpisode, type Study } from "./study.ts";
import { toldBeforehand } from "./told_beforehand.ts";

/** The next recipe to run, with every knob resolved. */
export interface Proposal {
  readonly actions: readonly Action[];
  readonly resolved: ResolvedAction[];
  readonly origin: Origin;
  readonly beforehand: Beforehand;
}

/** Doubles and misfits that one sampler may propose in an episode before the next is asked. */
const PATIENCE = 8;

/**
 * The next strategy: what a sampler answered in an earlier run and no trial came of, then from the
 * queue while it lasts, then from the samplers in turn. What is already run, cannot be resolved or
 * does not fit the time left is refused with its reason; where nothing is left, why.
 */
export async function propose(study: Study): Promise<Proposal | "budget" | "exhausted"> {
  let tooLong = false;
  const consider = (given: readonly Action[], origin: Origin, quiet: boolean) => {
    const verdict = examine(study, given, origin.mode);
    if ("resolved" in verdict) {
      const { resolved } = verdict;
      return { actions: given, resolved, origin, beforehand: toldBeforehand(study, resolved) };
    }
    tooLong ||= verdict.tooLong;
    if (!quiet || verdict.tooLong) {
      study.refused.push({ strategy: strategyWords(given), reason: verdict.reason });
    }
    return null;
  };
  const number = nextEpisode(study);
  const kept = study.answers.splice(0).filter((one) => one.number === number);
  for (const [at, { sampler, answer }] of kept.entries()) {
    const { actions, origin } = answer!; // those without an answer are not kept
    const again = study.trials.some((trial) => isOf(trial, actions)); // its trial was closed
    const proposal = consider(actions, { sampler, ...origin }, again);
    if (proposal === null) continue;
    study.answers.push(...kept.slice(at + 1)); // of trials that were under way beside it
    study.asked = { number, times: kept.length };
    return proposal;
  }
  for (let next = study.queue.shift(); next !== undefined; next = study.queue.shift()) {
    const proposal = consider(next.actions, next.origin, true);
    if (proposal !== null) return proposal;
  }
  // A study by hand may propose again before the episode is closed.
  let ask = study.asked.number === number ? study.asked.times : kept.length;
  for (const sampler of inTurn(study)) {
    for (let attempt = 0; attempt < PATIENCE; attempt++) {
      const made = await askSampler(study, sampler, { number, ask: ask++ });
      study.asked = { number, times: ask };
      if (made === null) break;
      const origin = { sampler: sampler.name, ...made.origin };
      const proposal = consider(made.actions, origin, false);
      if (proposal !== null) return proposal;
    }
    if (stopNow(study) !== null) break;
  }
  return tooLong ? "budget" : "exhausted";
}

function isOf({ strategy }: Trial, actions: readonly Action[]): boolean {
  return strategy !== null && strategyKey(strategy.actions) === strategyKey(actions);
}

/** The samplers, beginning with the one whose turn it is: trials under way have had theirs. */
function inTurn(study: Study): Sampler[] {
  const { samplers } = study.input;
  const turns = study.episodes.length + study.open.size - study.held.length;
  const first = samplers.length === 0 ? 0 : turns % samplers.length;
  return [...samplers.slice(first), ...samplers.slice(0, first)];
}

function examine(
  study: Study,
  actions: readonly Action[],
  mode: Origin["mode"],
): { resolved: ResolvedAction[] } | { reason: string; tooLong: boolean } {
  const plan = tryPlan(study, actions, mode);
  if (typeof plan === "string") return { reason: plan, tooLong: false };
  const { resolved, estimate } = plan;
  const key = strategyKey(resolved);
  if (study.keys.has(key)) return { reason: "it has been run in this study", tooLong: false };
  const left = remainingSeconds(study);
  if (estimate > left) {
    const reason = `it needs about ${Math.ceil(estimate)} s: ${Math.max(0, Math.floor(left))} s ` +
      "of the budget are left";
    return { reason, tooLong: true };
  }
  study.keys.add(key);
  return { resolved };
}

/** A plugin that throws refuses the strategy in its own words; the study goes on. */
function tryPlan(
  study: Study,
  actions: readonly Action[],
  mode: Origin["mode"],
): { resolved: ResolvedAction[]; estimate: number } | string {
  try {
    const { methods, facts } = study.input;
    const resolved = resolveActions(actions, methods, facts, mode);
    return { resolved, estimate: estimateTrial(study, resolved) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
