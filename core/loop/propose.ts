import type { Sampler, SearchContext } from "../contract/plugin.ts";
import { streamRandom } from "../random.ts";
import type { Action, Origin, ResolvedAction } from "../schemas/action.ts";
import { resolveActions } from "../strategies/resolve_action.ts";
import { strategyKey } from "../strategies/strategy_names.ts";
import { estimateTrial, remainingSeconds } from "./budget.ts";
import { allowedMethods } from "./queue.ts";
import { currentFront, type Study, visibleTrials } from "./study.ts";

/** The next recipe to run, with every knob resolved. */
export interface Proposal {
  readonly actions: readonly Action[];
  readonly resolved: ResolvedAction[];
  readonly origin: Origin;
}

/** Doubles and misfits that one sampler may propose in an episode before the next is asked. */
const PATIENCE = 8;

/**
 * The next strategy: from the queue while it lasts, then from the samplers in turn. What is
 * already run, cannot be resolved or does not fit the time left is refused with its reason; where
 * nothing is left, why.
 */
export function propose(study: Study): Proposal | "budget" | "exhausted" {
  let tooLong = false;
  const consider = (given: readonly Action[], origin: Origin, quiet: boolean) => {
    // A sampler may hand on a trial's resolved actions: only what an action is goes into a strategy.
    const actions = given.map(({ agent, method, params }) => ({ agent, method, params }));
    const verdict = examine(study, actions, origin.mode);
    if ("resolved" in verdict) return { actions, resolved: verdict.resolved, origin };
    tooLong ||= verdict.tooLong;
    if (!quiet || verdict.tooLong) {
      study.refused.push({ strategy: described(actions), reason: verdict.reason });
    }
    return null;
  };
  for (let next = study.queue.shift(); next !== undefined; next = study.queue.shift()) {
    const proposal = consider(next.actions, next.origin, true);
    if (proposal !== null) return proposal;
  }
  const context = searchContext(study);
  for (const sampler of inTurn(study)) {
    for (let attempt = 0; attempt < PATIENCE; attempt++) {
      const made = ask(study, sampler, context);
      if (made === null) break;
      const origin = { sampler: sampler.name, ...made.origin };
      const proposal = consider(made.actions, origin, false);
      if (proposal !== null) return proposal;
    }
  }
  return tooLong ? "budget" : "exhausted";
}

/** The samplers, beginning with the one whose turn it is. */
function inTurn(study: Study): Sampler[] {
  const { samplers } = study.input;
  const first = samplers.length === 0 ? 0 : study.episodes.length % samplers.length;
  return [...samplers.slice(first), ...samplers.slice(0, first)];
}

/** The random numbers of an episode depend on seed and number alone: resuming repeats them. */
function searchContext(study: Study): SearchContext {
  const { facts, methods, request } = study.input;
  return {
    facts,
    spec: study.spec,
    methods: allowedMethods(methods, study.spec),
    trials: visibleTrials(study),
    front: currentFront(study).ids,
    random: streamRandom(request.seed, `episode ${(study.episodes.at(-1)?.number ?? 0) + 1}`),
  };
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

/** A sampler's next recipe; null where it has none, or fails (which is told as a refusal). */
function ask(study: Study, sampler: Sampler, context: SearchContext) {
  try {
    return sampler.propose(context);
  } catch (error) {
    study.refused.push({ strategy: `sampler ${sampler.name}`, reason: `it failed: ${error}` });
    return null;
  }
}

function described(actions: readonly Action[]): string {
  return actions.map(({ agent, method, params }) => {
    const knobs = Object.entries(params).map(([name, value]) => `${name}=${value}`).join(", ");
    return `${agent}/${method}(${knobs})`;
  }).join(" + ");
}
