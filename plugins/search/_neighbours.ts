import {
  type Action,
  type AgentMethod,
  bitsLeft,
  embeddingActions,
  type Facts,
  type Finding,
  findMethod,
  knobNeighbours,
  type KnobValue,
  type Part,
  resolvedSchema,
  type SearchContext,
  setsCache,
  withoutDefaults,
  withPolicy,
} from "../../core/mod.ts";

/** A recipe one move away from another. */
export interface Move {
  readonly kind: "knob" | "embedding" | "method" | "next" | "cache";
  readonly actions: Action[];
  /** What was changed, for the report. */
  readonly change: string;
}

/** An action with a value for every knob. */
interface FullAction {
  readonly agent: string;
  readonly method: string;
  readonly params: Record<string, KnobValue>;
}

/** Methods whose bits differ by less than this are swapped for one another. */
const SAME_BITS = 0.75;
/** Of what is changed and stays as wide. */
const FLOAT_BITS = 16;

function written(action: FullAction, methods: readonly AgentMethod[]): Action {
  const { method } = findMethod(methods, action.agent, action.method);
  return { ...action, params: withoutDefaults(method.knobs, action.params) };
}

/** One knob of one action moved by one step. */
function knobMoves(recipe: readonly FullAction[], methods: readonly AgentMethod[]): Move[] {
  return recipe.flatMap((action, at) => {
    const { method } = findMethod(methods, action.agent, action.method);
    return Object.entries(method.knobs).flatMap(([name, knob]) => {
      const value = action.params[name] ?? knob.default;
      return knobNeighbours(knob, value).map((next): Move => {
        const moved = recipe.with(at, { ...action, params: { ...action.params, [name]: next } });
        return {
          kind: "knob",
          actions: moved.map((one) => written(one, methods)),
          change: `${method.name} ${name} ${value} to ${next}`,
        };
      });
    });
  });
}

/** The parts that a method with these parameters changes. */
function partsOf({ method }: AgentMethod, params: FullAction["params"], facts: Facts): Part[] {
  return method.leaves(params, facts).changes.map(({ part }) => part);
}

/** Bits per weight of the parts that a method with these parameters changes: their mean. */
function bitsOf({ method }: AgentMethod, params: FullAction["params"], facts: Facts): number {
  const { changes, model } = method.leaves(params, facts);
  const bits = changes.map(({ part }) => bitsLeft(part, facts.model, model) ?? FLOAT_BITS);
  return bits.reduce((sum, one) => sum + one, 0) / bits.length;
}

/** The embedding reduced where it is whole, or left whole where an action of its own reduces it. */
function embeddingMoves(
  recipe: readonly FullAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): Move[] {
  const parts = recipe.map(({ agent, method, params }) =>
    partsOf(findMethod(methods, agent, method), params, facts)
  );
  const plain = recipe.map((one) => written(one, methods));
  if (!parts.some((changed) => changed.includes("embedding"))) {
    return embeddingActions(methods, facts).slice(0, 2).map((action) => ({
      kind: "embedding",
      actions: [...plain, action],
      change: `the embedding by ${action.method} too`,
    }));
  }
  if (recipe.length < 2) return [];
  const at = parts.findIndex((changed) => changed.length === 1 && changed[0] === "embedding");
  if (at < 0) return [];
  const actions = plain.toSpliced(at, 1);
  return [{ kind: "embedding", actions, change: "the embedding left whole" }];
}

/** The other method's parameters: the knobs that both spell alike, its defaults for the rest. */
function carriedOver(params: Record<string, KnobValue>, { method }: AgentMethod) {
  return Object.fromEntries(
    Object.entries(method.knobs).map(([name, knob]) => {
      const value = params[name];
      const fits = value !== undefined &&
        resolvedSchema({ [name]: knob }).safeParse({ [name]: value }).success;
      return [name, fits ? value : knob.default];
    }),
  );
}

/** The method of one action replaced by another that changes the same parts at the same bits. */
function methodMoves(
  recipe: readonly FullAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): Move[] {
  return recipe.flatMap((action, at) => {
    const own = findMethod(methods, action.agent, action.method);
    const { method } = own;
    const parts = partsOf(own, action.params, facts).join();
    const bits = bitsOf(own, action.params, facts);
    return methods.filter((other) => other.method.name !== method.name).flatMap((other): Move[] => {
      const params = carriedOver(action.params, other);
      if (partsOf(other, params, facts).join() !== parts) return [];
      if (Math.abs(bitsOf(other, params, facts) - bits) >= SAME_BITS) return [];
      const swapped = recipe.with(at, { agent: other.agent, method: other.method.name, params });
      return [{
        kind: "method",
        actions: swapped.map((one) => written(one, methods)),
        change: `${method.name} to ${other.method.name} at the same bits`,
      }];
    });
  });
}

/** What the method of one action would try next, seeing how the trial of this recipe ended. */
export function nextMoves(
  recipe: readonly FullAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
  finding: Finding,
): Move[] {
  return recipe.flatMap((action, at): Move[] => {
    const { method } = findMethod(methods, action.agent, action.method);
    const params = method.next(action.params, finding, facts);
    if (params === null) return [];
    const changed = Object.entries(params).filter(([name, value]) => action.params[name] !== value)
      .map(([name, value]) => `${name} ${action.params[name]} to ${value}`);
    const moved = recipe.with(at, { ...action, params });
    return [{
      kind: "next",
      actions: moved.map((one) => written(one, methods)),
      change: `${method.name}'s own next step, ${changed.join(", ")}`,
    }];
  });
}

/** Weights by the first try of a preferred method, or of any where none is, where a recipe has a policy of the cache alone. */
function weightsBefore(
  policy: readonly Action[],
  methods: readonly AgentMethod[],
  { spec, facts }: Pick<SearchContext, "spec" | "facts">,
): Move[] {
  const all = methods.filter((entry) => !setsCache(entry));
  const preferred = all.filter(({ method }) => spec.preferred_quant.includes(method.name));
  return (preferred.length > 0 ? preferred : all).flatMap(({ agent, method }): Move[] => {
    const params = method.seed("balanced", facts);
    if (params === null) return [];
    const actions = [{ agent, method: method.name, params }, ...policy];
    return [{ kind: "cache", actions, change: `the weights by ${method.name} too` }];
  });
}

/** A policy of the cache behind the weights, weights before it, or the whole cache kept, where a context is asked for. */
function cacheMoves(
  recipe: readonly FullAction[],
  methods: readonly AgentMethod[],
  { spec, facts }: Pick<SearchContext, "spec" | "facts">,
): Move[] {
  if (spec.context_tokens === undefined) return [];
  const plain = recipe.map((one) => written(one, methods));
  const sets = recipe.findIndex((one) => setsCache(findMethod(methods, one.agent, one.method)));
  if (sets >= 0) {
    if (recipe.length < 2) return weightsBefore(plain, methods, { spec, facts });
    return [{ kind: "cache", actions: plain.toSpliced(sets, 1), change: "the whole cache kept" }];
  }
  return methods.filter(setsCache).flatMap((policy): Move[] => {
    const found = withPolicy(plain, "balanced", [policy], { spec, facts, methods });
    const change = `less of the cache kept, by ${policy.method.name} too`;
    return found === null ? [] : [{ kind: "cache", actions: found.actions, change }];
  });
}

/** Every recipe that is one move away from one whose quality was kept. */
export function neighbours(
  recipe: readonly FullAction[],
  methods: readonly AgentMethod[],
  context: Pick<SearchContext, "spec" | "facts">,
): Move[] {
  const { facts } = context;
  return [
    ...knobMoves(recipe, methods),
    ...embeddingMoves(recipe, methods, facts),
    ...methodMoves(recipe, methods, facts),
    ...nextMoves(recipe, methods, facts, "kept"),
    ...cacheMoves(recipe, methods, context),
  ];
}
