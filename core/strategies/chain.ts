import type { Leaves } from "../contract/change.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts, ModelFacts } from "../schemas/facts.ts";
import { metAfter } from "./met_facts.ts";
import { type AgentMethod, findMethod } from "./resolve_action.ts";
import { totalBytes } from "./weight_bytes.ts";

/** An action in its chain: the facts of the model that it meets, and what it leaves. */
export interface Link {
  readonly action: ResolvedAction;
  readonly entry: AgentMethod;
  readonly met: Facts;
  readonly leaves: Leaves;
}

/** The actions of a recipe in order, each with the model that those before it leave. */
export function chainOf(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): Link[] {
  let met = facts;
  return actions.map((action) => {
    const entry = findMethod(methods, action.agent, action.method);
    const link = { action, entry, met, leaves: entry.method.leaves(action.params, met) };
    met = metAfter(met, link.leaves.model);
    return link;
  });
}

/**
 * Whether an action leaves a setting of its parent's weights and none of its own: nothing that reads
 * weights may follow it.
 */
export function leavesSetting({ changes }: Leaves): boolean {
  return changes.length > 0 && changes.every(({ effect }) => effect === "caches");
}

/** The model after the last action of a recipe, by formula. */
export function modelAfter(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): ModelFacts {
  return chainOf(actions, methods, facts).at(-1)?.leaves.model ?? facts.model;
}

/** Bytes of the weights after these actions, as their formulas predict. */
export function predictBytes(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): number {
  return totalBytes(modelAfter(actions, methods, facts));
}
