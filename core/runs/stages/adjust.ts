import type { Knob } from "../../contract/knobs.ts";
import { UsageError } from "../../errors.ts";
import type { Action, KnobValue, ResolvedAction } from "../../schemas/action.ts";
import type { Facts } from "../../schemas/facts.ts";
import type { StageAdjustment, StagePlan } from "./plan.ts";
import { predictBytes } from "../../strategies/chain.ts";
import { type AgentMethod, findMethod, resolveActions } from "../../strategies/resolve_action.ts";
import { plannedFacts } from "./planned.ts";

/** What an attempt came to, as far as adjustments go by it. */
export interface AttemptFigures {
  /** Mean retention of the core beside the original; null: it was not measured. */
  readonly core: number | null;
  readonly failed: number;
  /** Its files were too large. */
  readonly too_large: boolean;
}

/** An attempt's actions, and what they are resolved by. */
export interface Tried {
  readonly actions: readonly Action[];
  readonly resolved: readonly ResolvedAction[];
  readonly methods: readonly AgentMethod[];
  /** Facts of the model that the stage is applied to. */
  readonly met: Facts;
}

/** What the next attempt is, by the adjustment that holds. */
export interface Further {
  readonly adjustment: StageAdjustment;
  readonly actions: Action[];
  /** Knobs that it sets; empty where it leaves the stage out. */
  readonly set: Record<string, KnobValue>;
  /** Knobs that were brought to less than was asked, in words. */
  readonly short: string[];
}

/** The adjustments whose conditions hold, in their order. One that asks for a retention needs one. */
export function adjustmentsFor(
  { adjustments }: Pick<StagePlan, "adjustments">,
  { core, failed }: Pick<AttemptFigures, "core" | "failed">,
): StageAdjustment[] {
  return adjustments.filter(({ below, more_failed_than: more }) =>
    (below === undefined || (core !== null && core < below)) &&
    (more === undefined || failed > more)
  );
}

/**
 * The first adjustment that holds and does something; undefined: none does. Where files were too
 * large it must leave fewer bytes by its formula.
 */
export function furtherAttempt(
  stage: Pick<StagePlan, "adjustments">,
  figures: AttemptFigures,
  { actions, resolved, methods, met }: Tried,
): Further | undefined {
  const bytes = (tried: readonly ResolvedAction[]) => predictBytes(tried, methods, met);
  for (const adjustment of adjustmentsFor(stage, figures)) {
    if (adjustment.skip) return { adjustment, actions: [...actions], set: {}, short: [] };
    const next = adjusted(actions, resolved, adjustment, methods);
    const { params } = resolved[adjustment.action]!; // adjusted has looked
    if (Object.entries(next.set).every(([knob, value]) => params[knob] === value)) continue;
    const smaller = () => bytes(resolveActions(next.actions, methods, met)) < bytes(resolved);
    if (figures.too_large && !smaller()) continue;
    return { adjustment, ...next };
  }
  return undefined;
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
): Omit<Further, "adjustment"> {
  const { action: index, scale } = adjustment;
  const action = actions[index];
  const before = resolved[index];
  if (action === undefined || before === undefined) {
    throw new UsageError(
      `Cannot adjust action ${index} of a stage with ${actions.length}: count from 0`,
    );
  }
  const { method } = findMethod(methods, action.agent, action.method);
  const short: string[] = [];
  const scaled = Object.entries(scale).map(([name, factor]) => {
    const knob = method.knobs[name];
    const value = before.params[name];
    if (knob === undefined || typeof value !== "number") {
      throw new UsageError(
        `Cannot scale ${name} of ${method.name} as it is no number: set it, or leave it out`,
      );
    }
    const wanted = value * factor;
    const taken = brought(knob, wanted, factor > 1);
    if (typeof taken === "number" && factor > 1 && taken < wanted - 1e-9) {
      const why = knob.bound === undefined ? "the most it takes" : `as ${knob.bound}`;
      short.push(`${name} is ${taken} in place of ${wanted}: ${why}`);
    }
    return [name, taken] as const;
  });
  const set = { ...Object.fromEntries(scaled), ...adjustment.set };
  const own = { ...action, params: { ...before.params, ...set } };
  return { actions: actions.map((one, i) => i === index ? own : one), set, short };
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
