import {
  type Action,
  type AgentMethod,
  bitsLeft,
  chainOf,
  type Part,
  resolveActions,
  type ResolvedAction,
  type SearchContext,
} from "../../core/mod.ts";

/** Widths that weights are kept in, widest first. */
const WIDTHS = [16, 8, 4, 3, 2];

/** A part of the model and the whole bits per weight that an action leaves there; scales left out. */
function* widths(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  { facts }: SearchContext,
): Generator<[Part, number]> {
  // A trial of an earlier plugin's method tells nothing of widths.
  const known = actions.filter(({ agent, method: name }) =>
    methods.some((one) => one.agent === agent && one.method.name === name)
  );
  for (const { leaves } of chainOf(known, methods, facts)) {
    for (const { part } of leaves.changes) {
      const bits = bitsLeft(part, facts.model, leaves.model);
      if (bits !== null) yield [part, Math.floor(bits)];
    }
  }
}

/** Bits per weight that a recipe's first action leaves in the part that it reduces most. */
function firstBits(action: ResolvedAction, entry: AgentMethod, { facts }: SearchContext): number {
  const { changes, model } = entry.method.leaves(action.params, facts);
  const bits = changes.map(({ part }) => bitsLeft(part, facts.model, model));
  return Math.min(WIDTHS[0]!, ...bits.filter((one) => one !== null));
}

/** The fewest bits at which each part was left by a trial that no gate ended. */
function fewestHeld(context: SearchContext, methods: readonly AgentMethod[]): Map<Part, number> {
  const held = new Map<Part, number>();
  for (const trial of context.trials.filter(({ state }) => state === "completed")) {
    for (const [part, bits] of widths(trial.actions, methods, context)) {
      held.set(part, Math.min(held.get(part) ?? WIDTHS[0]!, bits));
    }
  }
  return held;
}

/** The most bits at which each method's recipe was ended by a gate: at fewer it would be worse. */
function tooFew(context: SearchContext, methods: readonly AgentMethod[]): Map<string, number> {
  const bits = new Map<string, number>();
  for (const { actions: [first] } of context.trials.filter(({ state }) => state === "stopped")) {
    const entry = methods.find(({ method }) => method.name === first?.method);
    if (first === undefined || entry === undefined) continue;
    const lost = firstBits(first, entry, context);
    bits.set(first.method, Math.max(bits.get(first.method) ?? 0, lost));
  }
  return bits;
}

/**
 * A test for recipes drawn at random: quality falls with the bits, so a draw leaves no part more
 * than one width narrower than what has held in this study (an untried part counts as 16 bits),
 * and begins with no method at bits at which a gate has ended it. A draw far below costs a whole
 * trial to say what is known already; moves from the front get there one step at a time.
 */
export function nearWhatHeld(
  context: SearchContext,
  methods: readonly AgentMethod[],
): (actions: readonly Action[]) => boolean {
  const held = fewestHeld(context, methods);
  const lost = tooFew(context, methods);
  const narrowest = (part: Part) =>
    WIDTHS.find((width) => width < (held.get(part) ?? WIDTHS[0]!)) ?? WIDTHS.at(-1)!;
  return (actions) => {
    const resolved = resolveActions(actions, methods, context.facts);
    const [first] = resolved;
    const entry = methods.find(({ method }) => method.name === first?.method);
    if (first !== undefined && entry !== undefined) {
      const bits = firstBits(first, entry, context);
      if (bits <= (lost.get(first.method) ?? 0)) return false;
    }
    return [...widths(resolved, methods, context)]
      .every(([part, bits]) => bits >= narrowest(part));
  };
}
