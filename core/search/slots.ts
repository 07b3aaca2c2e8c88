import type { Knob, Knobs } from "../contract/knobs.ts";
import type { Effect } from "../contract/change.ts";
import type { Method } from "../contract/plugin.ts";
import type { KnobValue } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

/**
 * The order of a chain where methods allow more than one: what is cut first is trained afterwards, and so
 * wins back what the cut lost; integers come after all that works on floats.
 */
const EFFECT_ORDER: readonly Effect[] = [
  "resizes",
  "prunes",
  "trains",
  "rounds",
  "encodes",
  "caches",
];

/** A method in a slot. */
export interface SlotMethod {
  readonly entry: AgentMethod;
  /** The knobs that are free there, with the values that they may have there. */
  readonly knobs: Knobs;
  /** Values of the others. */
  readonly fixed: Readonly<Record<string, KnobValue>>;
}

/** A place in a chain, for one method or none. */
export interface Slot {
  /** The effect, and the part where it is the embedding alone. */
  readonly name: string;
  readonly methods: readonly SlotMethod[];
}

const valuesOf = (knob: Knob): readonly KnobValue[] =>
  knob.kind === "flag" ? [false, true] : knob.choices ?? [];

/** Whether a method with these parameters changes the embedding and nothing else. */
function changesEmbeddingAlone(
  method: Method,
  params: Readonly<Record<string, KnobValue>>,
  facts: Facts,
): boolean {
  const { changes } = method.leaves(params, facts);
  return changes.length > 0 && changes.every(({ part }) => part === "embedding");
}

/** The values of each choice by which a method changes the embedding alone, or more than that. */
function sides({ method }: AgentMethod, facts: Facts) {
  const all = Object.entries(method.knobs);
  const defaults = Object.fromEntries(all.map(([name, knob]) => [name, knob.default]));
  const isAlone = (params: Readonly<Record<string, KnobValue>>) =>
    changesEmbeddingAlone(method, params, facts);
  const split = all.map(([name, knob]) => {
    const alone = new Set(
      valuesOf(knob).filter((value) => isAlone({ ...defaults, [name]: value })),
    );
    return { name, alone: [...alone], rest: valuesOf(knob).filter((one) => !alone.has(one)) };
  });
  return { isAlone: isAlone(defaults), split };
}

/** The method with some of its choices narrowed: a knob of one value is fixed. */
function narrowed(
  entry: AgentMethod,
  allowed: ReadonlyMap<string, readonly KnobValue[]>,
): SlotMethod {
  const knobs: Record<string, Knob> = {};
  const fixed: Record<string, KnobValue> = {};
  for (const [name, knob] of Object.entries(entry.method.knobs)) {
    const values = allowed.get(name) ?? valuesOf(knob);
    const only = valuesOf(knob).length > 0
      ? values.length === 1 ? values[0] : undefined
      : knob.minimum === knob.maximum
      ? knob.minimum
      : undefined;
    if (only !== undefined && only !== null) fixed[name] = only;
    else if (values.length === valuesOf(knob).length) knobs[name] = knob;
    else {
      const usual = values.includes(knob.default) ? knob.default : values[0]!;
      knobs[name] = { ...knob, kind: "choice", choices: values, default: usual };
    }
  }
  return withoutMet({ entry, knobs, fixed });
}

/** Conditions on a fixed knob are decided: met, the knob is free; else it stays at its default. */
function withoutMet({ entry, knobs, fixed }: SlotMethod): SlotMethod {
  const free: Record<string, Knob> = {};
  const settled = { ...fixed };
  for (const [name, knob] of Object.entries(knobs)) {
    const { only_where, ...own } = knob;
    const value = only_where === undefined ? undefined : fixed[only_where.knob];
    if (only_where === undefined || value === undefined) free[name] = knob;
    else if (only_where.is.includes(value)) free[name] = own;
    else settled[name] = knob.default;
  }
  return { entry, knobs: free, fixed: settled };
}

/** The method as it changes the embedding alone, and as it changes more; null: it never does. */
function roles(entry: AgentMethod, facts: Facts) {
  const { isAlone, split } = sides(entry, facts);
  const values = (side: "alone" | "rest") =>
    new Map(split.filter((one) => one.alone.length > 0).map((one) => [one.name, one[side]]));
  const turning = (side: "alone" | "rest") => {
    // The first choice that turns it to that side; the other knobs stay free.
    const first = split.find((one) => one.alone.length > 0 && one.rest.length > 0);
    return first === undefined ? null : narrowed(entry, new Map([[first.name, first[side]]]));
  };
  return isAlone
    ? { alone: narrowed(entry, new Map()), rest: turning("rest") }
    : { alone: turning("alone"), rest: narrowed(entry, values("rest")) };
}

/**
 * The places of a chain, by what methods do and to what, never by their names: for each effect, in the
 * order of a chain, one for those that change more than the embedding, and one for those that change it
 * alone. A method that can do both stands in both, with the knobs that are left to it there.
 */
export function chainSlots(methods: readonly AgentMethod[], facts: Facts): Slot[] {
  const known = methods.map((entry) => ({
    ...roles(entry, facts),
    effect: entry.method.order.effect,
  }));
  return EFFECT_ORDER.flatMap((effect) => {
    const own = known.filter((one) => one.effect === effect);
    return [
      { name: effect, methods: own.flatMap(({ rest }) => rest ?? []) },
      { name: `${effect} embedding`, methods: own.flatMap(({ alone }) => alone ?? []) },
    ].filter((slot) => slot.methods.length > 0);
  });
}
