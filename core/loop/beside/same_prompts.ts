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

/**
 * What is yet to be run and reads the very same prompts as a trial: recipes of the queue, and trials
 * under way, with the same weights and another setting at their end. Of each, that setting's action.
 */
export function besideOf(study: Study, draft: Draft): ResolvedAction[] {
  const { queue, open, input: { methods, facts } } = study;
  const weights = weightsOf(study, draft.trial.actions);
  if (weights === null || draft.trial.strategy === null) return [];
  const others = [...open].filter((other) => other !== draft && other.trial.fidelity === null)
    .map(({ trial }) => trial.actions);
  const queued = queue.slice(0, AT_MOST).map(({ actions }) =>
    resolveActions(actions, methods, facts)
  ).filter((actions) =>
    !study.keys.has(strategyKey(actions)) && checkStrategy(actions, methods, facts).ok
  );
  const found = new Map<string, ResolvedAction>();
  for (const actions of [...others, ...queued]) {
    if (weightsOf(study, actions) === weights) found.set(strategyKey(actions), actions.at(-1)!);
  }
  found.delete(strategyKey(draft.trial.actions));
  return [...found.values()];
}
