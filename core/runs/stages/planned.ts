import type { Facts } from "../../schemas/facts.ts";
import type { StagePlan } from "./plan.ts";
import { modelAfter } from "../../strategies/chain.ts";
import { type AgentMethod, resolveActions } from "../../strategies/resolve_action.ts";

/**
 * The facts that each stage meets where all before it pass as they are declared: those of what its
 * parent is to leave, or of the original. Null: a parent cannot be foretold.
 */
export function plannedFacts(
  stages: readonly StagePlan[],
  methods: readonly AgentMethod[],
  facts: Facts,
): (Facts | null)[] {
  let standing: Facts | null = facts;
  return stages.map(({ actions, onto }) => {
    const met = onto === "original" ? facts : standing;
    standing = met === null ? null : leftBy(actions, methods, met, facts);
    return met;
  });
}

function leftBy(
  actions: StagePlan["actions"],
  methods: readonly AgentMethod[],
  met: Facts,
  facts: Facts,
): Facts | null {
  try {
    return { ...facts, model: modelAfter(resolveActions(actions, methods, met), methods, met) };
  } catch {
    return null; // whoever resolves the stage itself says why
  }
}
