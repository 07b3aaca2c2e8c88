import type { SearchContext } from "../contract/plugin.ts";
import { UsageError } from "../errors.ts";
import type { Action } from "../schemas/action.ts";
import type { FailureKind } from "../schemas/failure.ts";
import type { Trial } from "../schemas/trial.ts";
import { checkStrategy, limitsOf } from "./compatibility.ts";
import { type AgentMethod, resolveActions } from "./resolve_action.ts";
import { strategyKey } from "./strategy_names.ts";

/** Failures of the machine's, not of the recipe's: such a recipe may be tried once more. */
const WORTH_A_RETRY: ReadonlySet<FailureKind> = new Set([
  "crash",
  "stall",
  "disk_full",
  "out_of_memory",
  "cancelled",
]);

/** Whether a failure is the machine's, so that the same recipe may do better the next time. */
export function isWorthARetry(kind: FailureKind): boolean {
  return WORTH_A_RETRY.has(kind);
}

/** The key of what a trial ran, or would have run; null for the baseline. */
function keyOf(trial: Trial, { methods, facts }: SearchContext): string | null {
  const written = trial.strategy?.actions ?? [];
  if (trial.actions.length > 0 && trial.actions.length >= written.length) {
    return strategyKey(trial.actions);
  }
  if (written.length === 0) return null;
  try {
    return strategyKey(resolveActions(written, methods, facts));
  } catch (error) {
    // A recipe that cannot be resolved cannot be proposed either: its own words are its key.
    if (error instanceof UsageError) return strategyKey(written);
    throw error;
  }
}

/** Keys that must not be proposed again: what is under way, and all tried ones but a machine's first failure. */
function closedKeys(context: SearchContext): Set<string> {
  const runs = new Map<string, Trial[]>();
  for (const trial of context.trials) {
    const key = keyOf(trial, context);
    if (key !== null) runs.set(key, [...runs.get(key) ?? [], trial]);
  }
  const retriable = ([only, ...more]: Trial[]): boolean =>
    more.length === 0 && only?.failure != null && isWorthARetry(only.failure.kind);
  const closed = [...runs].filter(([, trials]) => !retriable(trials));
  const under_way = context.under_way.map(({ actions }) => strategyKey(actions));
  return new Set([...closed.map(([key]) => key), ...under_way]);
}

/** The methods that a search may use: known here, supported by the study's spec, and not of what a user gives. */
export function usableMethods(
  { spec, methods }: Pick<SearchContext, "spec" | "methods">,
): AgentMethod[] {
  return methods.filter(({ agent, method }) =>
    method.needs.given !== true &&
    spec.methods.some((one) => one.supported && one.agent === agent && one.method === method.name)
  );
}

/** Whether the time that is left lets a recipe run: one that is refused for it would be proposed again. */
export function fitsTime(
  { predictSeconds, budget }: Pick<SearchContext, "predictSeconds" | "budget">,
  actions: readonly Action[],
): boolean {
  const left = budget.seconds_left;
  return left === null || (predictSeconds(actions) ?? 0) <= left;
}

/**
 * A test for recipes, made once for a proposal: true for one that can run here and has not been
 * tried, neither with success nor without. One that a crash, a stall or a full machine ended may
 * be tried a second time, not a third.
 */
export function untried(context: SearchContext): (actions: readonly Action[]) => boolean {
  const closed = closedKeys(context);
  const methods = usableMethods(context);
  const names = new Set(methods.map(({ agent, method }) => `${agent}/${method.name}`));
  const limits = limitsOf(context.spec, context.trials);
  return (actions) => {
    if (!actions.every(({ agent, method }) => names.has(`${agent}/${method}`))) return false;
    const resolved = resolveActions(actions, methods, context.facts);
    if (closed.has(strategyKey(resolved))) return false;
    return checkStrategy(resolved, methods, context.facts, limits).ok;
  };
}
