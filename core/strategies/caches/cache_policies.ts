import { cacheBytesAt } from "./cache_at.ts";
import type { Boldness } from "../../contract/plugin.ts";
import type { Action } from "../../schemas/action.ts";
import type { Facts } from "../../schemas/facts.ts";
import type { Spec } from "../../schemas/spec.ts";
import { chainOf, leavesSetting } from "../chain.ts";
import { checkStrategy, sizeLimits } from "../compatibility.ts";
import { type AgentMethod, resolveActions } from "../resolve_action.ts";

/** Whether an action of this method keeps less of the cache and nothing else. */
export const setsCache = ({ method }: AgentMethod): boolean => method.order.effect === "caches";

/** The part of a context that a first try keeps where the method's own is too much for it. */
const PARTS: Readonly<Record<Boldness, number>> = { conservative: 2, balanced: 4, aggressive: 8 };
const GIGABYTE = 1e9;

/** Tokens of the context that meet the limit on the cache, as a power of two. */
function budgetAt(boldness: Boldness, { constraints, context_tokens = 0 }: Spec, facts: Facts) {
  const full = cacheBytesAt(facts.model, context_tokens) ?? 0;
  const { max_kv_gb } = constraints;
  const share = max_kv_gb === undefined || full === 0 ? 1 : max_kv_gb * GIGABYTE / full;
  const room = Math.min(share, 1 / PARTS[boldness]) * context_tokens;
  return 2 ** Math.floor(Math.log2(Math.max(1, room)));
}

/** First tries of a policy: the method's own, then the budget that the context and its limit leave. */
function triesOf({ agent, method }: AgentMethod, boldness: Boldness, spec: Spec, facts: Facts) {
  const own = method.seed(boldness, facts);
  if (own === null) return [];
  const kept = method.keeping?.(budgetAt(boldness, spec, facts)) ?? { refused: "" };
  const tries = "refused" in kept ? [own] : [own, { ...own, ...kept }];
  return tries.map((params): Action => ({ agent, method: method.name, params }));
}

/**
 * A recipe with a policy of the cache behind it that meets the study's limits, by the first method that has
 * one; null: none has, or it sets the cache already. The methods' own order is kept.
 */
export function withPolicy(
  actions: readonly Action[],
  boldness: Boldness,
  policies: readonly AgentMethod[],
  { spec, facts, methods }: {
    readonly spec: Spec;
    readonly facts: Facts;
    readonly methods: readonly AgentMethod[];
  },
): { readonly actions: Action[]; readonly policy: AgentMethod } | null {
  const before = resolveActions(actions, methods, facts);
  if (chainOf(before, methods, facts).some(({ leaves }) => leavesSetting(leaves))) return null;
  for (const policy of policies) {
    for (const last of triesOf(policy, boldness, spec, facts)) {
      const whole = [...actions, last];
      const resolved = resolveActions(whole, methods, facts);
      if (checkStrategy(resolved, methods, facts, sizeLimits(spec)).ok) {
        return { actions: whole, policy };
      }
    }
  }
  return null;
}
