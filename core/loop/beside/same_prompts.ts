import type { ResolvedAction } from "../../schemas/action.ts";
import { checkStrategy } from "../../strategies/compatibility.ts";
import { findMethod, resolveActions } from "../../strategies/resolve_action.ts";
import { strategyKey } from "../../strategies/strategy_names.ts";
import type { Draft, Study } from "../study.ts";

/** Settings that are looked at for one evaluation: what is queued behind them has its own turn. */
const AT_MOST = 64;

/** The weights of a recipe that ends in a setting which chooses by what was read; null: another one. */
function weightsOf({ input }: Study, actions: readonly ResolvedAction[]): string | null {
  const last = actions.at(-1);
  if (last === undefined) return null;
  const { method } = findMethod(input.methods, last.agent, last.method);
  const { cache } = method.leaves(last.params, input.facts).model;
  return cache?.evict_after === undefined ? null : strategyKey(actions.slice(0, -1));
}

/** Recipes that an evaluation under way asks beside its own trial: no other one asks them meanwhile. */
const asked_now = new WeakMap<Study, Set<string>>();

/**
 * What waits in the queue and reads the very same prompts as a trial: recipes with the same weights and
 * another setting at their end. Of each, that setting's action.
 */
function besideOf(study: Study, draft: Draft): Map<string, ResolvedAction> {
  const { queue, input: { methods, facts } } = study;
  const found = new Map<string, ResolvedAction>();
  const weights = weightsOf(study, draft.trial.actions);
  if (weights === null || draft.trial.strategy === null) return found;
  const taken = asked_now.get(study);
  for (const { actions: given } of queue.slice(0, AT_MOST)) {
    const actions = resolveActions(given, methods, facts);
    const key = strategyKey(actions);
    if (study.keys.has(key) || taken?.has(key)) continue;
    if (!checkStrategy(actions, methods, facts).ok) continue;
    if (weightsOf(study, actions) === weights) found.set(key, actions.at(-1)!);
  }
  return found;
}

/** Evaluates a trial, and asks beside it what waits for the same prompts. */
export async function evaluateBeside<T>(
  study: Study,
  draft: Draft,
  evaluate: (beside: readonly ResolvedAction[]) => Promise<T>,
): Promise<T> {
  const beside = besideOf(study, draft);
  const taken = asked_now.get(study) ?? new Set();
  asked_now.set(study, taken);
  for (const key of beside.keys()) taken.add(key);
  try {
    return await evaluate([...beside.values()]);
  } finally {
    for (const key of beside.keys()) taken.delete(key);
  }
}
