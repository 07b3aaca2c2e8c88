import { unknownName, UsageError } from "../../errors.ts";
import type { Action, KnobValue } from "../../schemas/action.ts";
import type { Facts } from "../../schemas/facts.ts";
import { checkStrategy } from "../../strategies/compatibility.ts";
import { type AgentMethod, clashOf, resolveActions } from "../../strategies/resolve_action.ts";
import { strategyKey } from "../../strategies/strategy_names.ts";
import { type SweepPlan, sweptMethods } from "./plan.ts";

/** The agent whose methods a plan names by their names alone. */
const CACHES = "kv_cache";

/** Agent and method that a plan's word names. */
export function namedMethod(word: string): Pick<Action, "agent" | "method"> {
  const [agent, method] = word.includes("/") ? word.split("/", 2) : [CACHES, word];
  return { agent: agent!, method: method! };
}

/** A recipe of a sweep. */
export type Cell = readonly Action[];

/**
 * The recipes of a sweep in the order of its plan: of each weights the methods, of each method the
 * budgets. A method without a budget is one cell.
 *
 * @throws UsageError for a method that there is not, and for a cell that cannot run here, with its reason.
 */
export function cellsOf(plan: SweepPlan, methods: readonly AgentMethod[], facts: Facts): Cell[] {
  const found = new Map<string, Cell>();
  for (const before of plan.weights) {
    for (const word of sweptMethods(plan)) {
      const entry = cacheMethod(word, methods);
      for (const budget of plan.budgets) {
        const cell = [...before, { ...namedMethod(word), params: paramsOf(entry, budget, plan) }];
        const resolved = resolveActions(cell, methods, facts, "user");
        const verdict = checkStrategy(resolved, methods, facts);
        if (!verdict.ok) {
          throw refused(word, budget, verdict.reason);
        }
        found.set(strategyKey(resolved), cell);
      }
    }
  }
  requireSetKnobs(plan, methods);
  return [...found.values()];
}

/**
 * The actions of the cache that a plan asks for, before anything is known of its model but how many tokens
 * it reads, where its config says.
 *
 * @throws UsageError for a method that there is not, and for knobs that go together on no such model.
 */
export function namedCells(
  plan: SweepPlan,
  methods: readonly AgentMethod[],
  reads?: number,
): Action[] {
  const named = sweptMethods(plan).flatMap((word) => {
    const entry = cacheMethod(word, methods);
    return plan.budgets.map((budget) => {
      const params = paramsOf(entry, budget, plan);
      const clash = clashOf(entry.method, params, reads);
      if (clash !== null) throw refused(word, budget, clash);
      return { ...namedMethod(word), params };
    });
  });
  requireSetKnobs(plan, methods);
  return named;
}

/** The method of the cache that a plan's word names. @throws UsageError where there is none */
export function cacheMethod(word: string, methods: readonly AgentMethod[]): AgentMethod {
  const { agent, method } = namedMethod(word);
  const found = methods.find((one) => one.agent === agent && one.method.name === method);
  if (found?.method.order.effect === "caches") return found;
  const caches = methods.filter(({ method }) => method.order.effect === "caches");
  const names = caches.map((one) =>
    one.agent === CACHES ? one.method.name : `${one.agent}/${one.method.name}`
  );
  throw new UsageError(unknownName("method of the cache", word, names));
}

function paramsOf(
  { method }: AgentMethod,
  budget: number,
  { set }: SweepPlan,
): Record<string, KnobValue> {
  const own = Object.fromEntries(Object.entries(set).filter(([name]) => name in method.knobs));
  const kept = method.keeping?.(budget, own) ?? {};
  if ("refused" in kept) {
    throw refused(method.name, budget, String(kept.refused));
  }
  return { ...own, ...kept };
}

function requireSetKnobs(plan: SweepPlan, methods: readonly AgentMethod[]) {
  const knobs = new Set(
    sweptMethods(plan).flatMap((word) => {
      return Object.keys(cacheMethod(word, methods).method.knobs);
    }),
  );
  const stranger = Object.keys(plan.set).find((name) => !knobs.has(name));
  if (stranger !== undefined) {
    throw new UsageError(unknownName("knob of these methods", stranger, [...knobs]));
  }
}

const refused = (word: string, budget: number, reason: string) =>
  new UsageError(`Cannot sweep ${word} with a budget of ${said(budget)} as ${reason}`);

const said = (budget: number): string =>
  budget < 1 ? `${Number((100 * budget).toPrecision(3))} %` : `${budget} tokens`;
