import type { Knob } from "../contract/knobs.ts";
import { UsageError } from "../errors.ts";
import type { Action, KnobValue, ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { StageAdjustment, StagePlan } from "../schemas/stages/plan.ts";
import { type AgentMethod, findMethod, resolveActions } from "../strategies/resolve_action.ts";
import { plannedFacts } from "./planned.ts";

/** What an attempt came to, as far as adjustments go by it. */
export interface AttemptFigures {
  /** Mean retention of the core beside the original; null: it was not measured. */
  readonly core: number | null;
  readonly failed: number;
}

/** The adjustment that holds; undefined: none does. One that asks for a retention needs one. */
export function adjustmentFor(
  { adjustments }: Pick<StagePlan, "adjustments">,
  { core, failed }: AttemptFigures,
): StageAdjustment | undefined {
  return adjustments.find(({ below, more_failed_than: more }) =>
    (below === undefined || (core !== null && core < below)) &&
    (more === undefined || failed > more)
  );
}

/** A number brought to what a knob takes: the nearest choice, a whole number, its ends. */
function brought(knob: Knob, value: number, up: boolean): KnobValue {
  if (knob.kind === "choice") {
    const numbers = (knob.choices ?? []).filter((one) => typeof one === "number");
    const beyond = numbers.filter((one) => up ? one >= value : one <= value);
    const of = beyond.length > 0 ? beyond : numbers;
    return of.reduce((near, one) => Math.abs(one - value) < Math.abs(near - value) ? one : near);
  }
  const whole = knob.kind === "integer"
    ? (up ? Math.ceil(value - 1e-9) : Math.floor(value))
    : value;
  return Math.min(Math.max(whole, knob.minimum ?? whole), knob.maximum ?? whole);
}

/** The stage's actions as an adjustment changes them, with the knobs that it set. */
export function adjusted(
  actions: readonly Action[],
  resolved: readonly ResolvedAction[],
  adjustment: StageAdjustment,
  methods: readonly AgentMethod[],
): { actions: Action[]; set: Record<string, KnobValue> } {
  const { action: index, scale } = adjustment;
  const action = actions[index];
  const before = resolved[index];
  if (action === undefined || before === undefined) {
    throw new UsageError(
      `Cannot adjust action ${index} of a stage with ${actions.length}: count from 0`,
    );
  }
  const { method } = findMethod(methods, action.agent, action.method);
  const scaled = Object.entries(scale).map(([name, factor]) => {
    const knob = method.knobs[name];
    const value = before.params[name];
    if (knob === undefined || typeof value !== "number") {
      throw new UsageError(
        `Cannot scale ${name} of ${method.name} as it is no number: set it, or leave it out`,
      );
    }
    return [name, brought(knob, value * factor, factor > 1)] as const;
  });
  const set = { ...Object.fromEntries(scaled), ...adjustment.set };
  const own = { ...action, params: { ...before.params, ...set } };
  return { actions: actions.map((one, i) => i === index ? own : one), set };
}

/** Refuses, before anything runs, adjustments that no attempt could take on what its stage meets. */
export function checkAdjustments(
  stages: readonly StagePlan[],
  methods: readonly AgentMethod[],
  facts: Facts,
): void {
  const planned = plannedFacts(stages, methods, facts);
  for (const [i, { name, actions, adjustments }] of stages.entries()) {
    const met = planned[i] ?? facts;
    const resolved = resolveActions(actions, methods, met);
    for (const adjustment of adjustments) {
      if (adjustment.skip) continue;
      try {
        resolveActions(adjusted(actions, resolved, adjustment, methods).actions, methods, met);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        throw new UsageError(`Stage ${name}: ${error.message}`);
      }
    }
  }
}
