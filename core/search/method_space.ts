import type { Knob, Knobs } from "../contract/knobs.ts";
import type { Action, KnobValue, ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import { setsCache } from "../strategies/caches/cache_policies.ts";
import { checkStrategy, type StrategyLimits } from "../strategies/compatibility.ts";
import { withoutDefaults } from "../strategies/knob_moves.ts";
import { type AgentMethod, resolveActions } from "../strategies/resolve_action.ts";
import { checkValue, isActive } from "./points.ts";
import { chainSlots, type Slot, type SlotMethod } from "./slots.ts";
import type { Dimension, Space, SpacePoint } from "./space.ts";

/** What a slot is that no method fills. */
export const NONE = "none";

/** Actions of a recipe that is drawn at random: chains that do everything at once leave little of a model. */
const USUAL_LENGTH = 2;
/** How often a slot is filled at most: where there is one alone, it has no other work. */
const MOST_FILLED = 0.75;
/** How often one is filled that a limit asks for: codes of a whole cache may meet it, too. */
const NEARLY_ALWAYS = 0.95;

/** The recipes that a study's methods allow, as a space. */
export interface MethodSpace extends Space {
  /** Why a recipe cannot run here: order on a part, parameters, memory, size. Null: it can. */
  forbidden(point: SpacePoint): string | null;
  /** The recipe of a point; knobs at their defaults are left out. */
  actionsOf(point: SpacePoint): Action[];
  /** A recipe's point, or why it has none: slots in another order, a knob that is fixed or out of range. */
  pointOf(actions: readonly ResolvedAction[]): { point: SpacePoint } | { reason: string };
}

/** A knob of one method in a slot, and the dimension that it has there. */
interface Placed {
  readonly knob: string;
  readonly dimension: string;
}

/** A slot with, for each of its methods, the dimensions of its knobs. */
interface PlacedSlot extends Slot {
  readonly placed: ReadonlyMap<SlotMethod, readonly Placed[]>;
}

const labelOf = ({ entry: { agent, method } }: SlotMethod): string => `${agent}/${method.name}`;

/** A knob's domain, with that of the knob it hangs on: equal ones are one dimension. */
function domainKey(name: string, { knobs }: SlotMethod): string {
  const domain = (own: string) => {
    const { kind, choices, minimum, maximum, log, default: usual, only_where } = knobs[own]!;
    return [own, kind, choices, minimum, maximum, log, usual, only_where ?? null];
  };
  const above = knobs[name]!.only_where?.knob;
  return JSON.stringify([domain(name), above === undefined ? null : domain(above)]);
}

/** Knobs that others depend on before those. */
function inOrder(knobs: Readonly<Record<string, Knob>>): string[] {
  const depth = (name: string, seen: readonly string[] = []): number => {
    const above = knobs[name]?.only_where?.knob;
    return above === undefined || seen.includes(name) ? 0 : 1 + depth(above, [...seen, name]);
  };
  return Object.keys(knobs).map((name) => ({ name, depth: depth(name) }))
    .sort((a, b) => a.depth - b.depth).map(({ name }) => name);
}

/** Sizes of which a negative one stands for all there is: it comes last, as the largest. */
function sorted(choices: readonly KnobValue[]): readonly KnobValue[] {
  return [
    ...choices.filter((one) => Number(one) >= 0),
    ...choices.filter((one) => Number(one) < 0),
  ];
}

function dimensionOf(name: string, knob: Knob, when: NonNullable<Dimension["when"]>): Dimension {
  const own = { name, default: knob.default, when };
  if (knob.kind === "flag") return { ...own, kind: "choice", choices: [false, true] };
  if (knob.kind === "choice") {
    const choices = knob.choices ?? [];
    return choices.every((one) => typeof one === "number")
      ? { ...own, kind: "ordinal", choices: sorted(choices) }
      : { ...own, kind: "choice", choices };
  }
  const { kind, minimum, maximum, log } = knob;
  return { ...own, kind, minimum: minimum!, maximum: maximum!, log };
}

/**
 * The dimensions of a slot: which method, then the methods' knobs. A knob that several of them declare
 * alike, such as the bits of everything that rounds, is one dimension, so that what one method shows of
 * it counts for the others.
 */
function placeSlot(slot: Slot, filled: number): { dimensions: Dimension[]; placed: PlacedSlot } {
  const labels = slot.methods.map(labelOf);
  const dimensions: Dimension[] = [
    {
      ...{ name: slot.name, kind: "choice", choices: [NONE, ...labels], default: NONE },
      shares: [1 - filled, ...labels.map(() => filled / labels.length)],
    },
  ];
  const groups = new Map<string, { dimension: string; methods: SlotMethod[]; knob: string }>();
  const names = new Set<string>();
  const placed = new Map<SlotMethod, Placed[]>();
  for (const method of slot.methods) {
    placed.set(method, []);
    for (const knob of inOrder(method.knobs)) {
      const key = domainKey(knob, method);
      if (!groups.has(key)) {
        const short = `${slot.name}.${knob}`;
        const dimension = names.has(short) ? `${slot.name}.${labelOf(method)}.${knob}` : short;
        names.add(dimension);
        groups.set(key, { dimension, methods: [], knob });
      }
      const { dimension, methods } = groups.get(key)!;
      methods.push(method);
      placed.get(method)!.push({ knob, dimension });
    }
  }
  const conditional: Dimension[] = [];
  for (const group of groups.values()) {
    const first = group.methods[0]!;
    const { only_where, ...knob } = first.knobs[group.knob]!;
    const above = only_where === undefined
      ? undefined
      : [...groups.values()].find((other) =>
        other.knob === only_where.knob && sameMembers(other.methods, group.methods)
      );
    const when = above === undefined
      ? { name: slot.name, is: group.methods.map(labelOf) }
      : { name: above.dimension, is: only_where!.is };
    (above === undefined ? dimensions : conditional).push(dimensionOf(group.dimension, knob, when));
  }
  const all = [...dimensions, ...inTurn(conditional, dimensions)];
  return { dimensions: all, placed: { ...slot, placed } };
}

/**
 * Whether a knob and the one that it hangs on are shared by the same methods. Where they are not, its
 * dimension hangs on the methods alone, as a dimension has one condition.
 */
function sameMembers<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}

/** Conditional dimensions so that each comes after the one that it hangs on. */
function inTurn(conditional: readonly Dimension[], before: readonly Dimension[]): Dimension[] {
  const known = new Set(before.map(({ name }) => name));
  const left = [...conditional];
  const ordered: Dimension[] = [];
  while (left.length > 0) {
    const at = Math.max(0, left.findIndex(({ when }) => known.has(when!.name)));
    const [next] = left.splice(at, 1);
    known.add(next!.name);
    ordered.push(next!);
  }
  return ordered;
}

/** Whether a knob counts beside those before it; where it does not, its default stands. */
function counts(knobs: Knobs, name: string, params: Readonly<Record<string, KnobValue>>): boolean {
  const { only_where } = knobs[name]!;
  if (only_where === undefined) return true;
  return only_where.is.includes(params[only_where.knob] ?? knobs[only_where.knob]!.default);
}

function actionsOf(slots: readonly PlacedSlot[], point: SpacePoint): Action[] {
  return slots.flatMap(({ name, methods, placed }) => {
    const chosen = methods.find((one) => labelOf(one) === point[name]);
    if (chosen === undefined) return [];
    const { entry: { agent, method }, fixed } = chosen;
    const params: Record<string, KnobValue> = { ...fixed };
    for (const { knob, dimension } of placed.get(chosen)!) {
      const value = point[dimension];
      if (value !== undefined && counts(method.knobs, knob, params)) params[knob] = value;
    }
    return [{ agent, method: method.name, params: withoutDefaults(method.knobs, params) }];
  });
}

/** An action's values in a slot, or why it does not fit there. */
function filled(
  { name, placed }: PlacedSlot,
  method: SlotMethod,
  { params }: ResolvedAction,
  dimensions: ReadonlyMap<string, Dimension>,
): { point: SpacePoint } | { reason: string } {
  const { fixed, entry } = method;
  const moved = Object.keys(fixed).find((knob) => params[knob] !== fixed[knob]);
  if (moved !== undefined) return { reason: `${entry.method.name} has ${moved} ${params[moved]}` };
  const point: Record<string, KnobValue> = { [name]: labelOf(method) };
  const own = placed.get(method)!.map(({ knob, dimension }) => ({
    knob,
    dimension: dimensions.get(dimension)!,
  }));
  // A knob follows the one that it hangs on: what does not count there is left out.
  for (const { knob, dimension } of own) {
    if (!isActive(dimension, point)) continue;
    const value = params[knob];
    const reason = value === undefined ? `${knob} has no value` : checkValue(dimension, value);
    if (reason !== null) return { reason };
    point[dimension.name] = value!;
  }
  return { point };
}

function pointOf(
  slots: readonly PlacedSlot[],
  dimensions: ReadonlyMap<string, Dimension>,
  actions: readonly ResolvedAction[],
): { point: SpacePoint } | { reason: string } {
  let values: SpacePoint = Object.fromEntries(slots.map(({ name }) => [name, NONE]));
  let from = 0;
  for (const action of actions) {
    const reasons: string[] = [];
    const at = slots.findIndex((slot, i) => {
      const own = i < from
        ? undefined
        : slot.methods.find(({ entry }) =>
          entry.agent === action.agent && entry.method.name === action.method
        );
      const fit = own === undefined ? null : filled(slot, own, action, dimensions);
      if (fit === null) return false;
      if ("reason" in fit) reasons.push(fit.reason);
      else values = { ...values, ...fit.point };
      return "point" in fit;
    });
    if (at < 0) {
      const reason = reasons[0] ?? `${action.method} has no place there, or none so late`;
      return { reason };
    }
    from = at + 1;
  }
  // In the order of the space, as every point is built.
  const point = Object.fromEntries(
    [...dimensions.keys()].flatMap((name) => name in values ? [[name, values[name]!]] : []),
  );
  return { point };
}

/**
 * The space of a study's recipes, by what its methods declare: a slot for each thing that can be done to
 * a model, in the order in which they are done; in each, one method or none; with a method, its knobs.
 * Which combinations cannot be, and why, `forbidden` says before any work.
 */
export function methodSpace(
  methods: readonly AgentMethod[],
  facts: Facts,
  limits: StrategyLimits = {},
): MethodSpace {
  const chain = chainSlots(methods, facts);
  // Where the cache has a limit, few recipes meet it that leave the cache whole.
  const filled = (slot: Slot) =>
    limits.max_kv_gb !== undefined && slot.methods.every(({ entry }) => setsCache(entry))
      ? NEARLY_ALWAYS
      : Math.min(MOST_FILLED, USUAL_LENGTH / chain.length);
  const made = chain.map((slot) => placeSlot(slot, filled(slot)));
  const slots = made.map(({ placed }) => placed);
  const dimensions = made.flatMap((one) => one.dimensions);
  const byName = new Map(dimensions.map((dimension) => [dimension.name, dimension]));
  return {
    dimensions,
    actionsOf: (point) => actionsOf(slots, point),
    pointOf: (actions) => pointOf(slots, byName, actions),
    forbidden(point) {
      try {
        const resolved = resolveActions(actionsOf(slots, point), methods, facts);
        const support = checkStrategy(resolved, methods, facts, limits);
        return support.ok ? null : support.reason;
      } catch (error) {
        return error instanceof Error ? error.message : String(error); // a plugin that throws
      }
    },
  };
}
