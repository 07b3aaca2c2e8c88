import {
  type Action,
  type AgentMethod,
  embeddingActions,
  type Facts,
  knobCombinations,
  type Knobs,
  type KnobValue,
  mayFollow,
  type Method,
  type Part,
  randomKnobValue,
  type SearchContext,
  setsCache,
  withoutDefaults,
} from "../../core/mod.ts";

/** Draws before the search turns to looking through everything in order. */
const DRAWS = 200;
/** Combinations of one method looked through in order. */
const LOOKED_THROUGH = 5000;

/** What an explorer prefers; every rule is optional. */
export interface Preferences {
  /** Weight of a method in the draw; 0: it begins no recipe. */
  weight(entry: AgentMethod): number;
  /** False: where drawing finds nothing, nothing is looked through in order. */
  readonly thorough?: boolean;
  /** False for a recipe that is not worth a trial. */
  worthwhile(actions: readonly Action[]): boolean;
}

function weighted<T>(items: readonly T[], weight: (item: T) => number, random: () => number): T {
  let left = random() * items.reduce((sum, item) => sum + weight(item), 0);
  for (const item of items) {
    left -= weight(item);
    if (left < 0) return item;
  }
  return items.at(-1)!;
}

function randomParams(knobs: Knobs, random: () => number): Record<string, KnobValue> {
  const entries = Object.entries(knobs);
  return Object.fromEntries(entries.map(([name, knob]) => [name, randomKnobValue(knob, random)]));
}

function actionOf({ agent, method }: AgentMethod, params: Record<string, KnobValue>): Action {
  return { agent, method: method.name, params: withoutDefaults(method.knobs, params) };
}

/** The parts that a method with these parameters changes. */
function partsOf(method: Method, params: Record<string, KnobValue>, facts: Facts): Part[] {
  return method.leaves(params, facts).changes.map(({ part }) => part);
}

function onlyEmbedding(parts: readonly Part[]): boolean {
  return parts.length === 1 && parts[0] === "embedding";
}

/** Actions that may stand before this one on a part that both change: pruning before rounding. */
function preparing(
  entry: AgentMethod,
  params: Record<string, KnobValue>,
  methods: readonly AgentMethod[],
  facts: Facts,
): AgentMethod[] {
  const parts = partsOf(entry.method, params, facts);
  return methods.filter(({ method }) => {
    const defaults = Object.entries(method.knobs).map(([name, knob]) => [name, knob.default]);
    return mayFollow(entry.method, method) &&
      partsOf(method, Object.fromEntries(defaults), facts).some((part) => parts.includes(part));
  });
}

/**
 * A policy of the cache with random knobs where a context is asked for: half of the time, and always where
 * the cache has a limit.
 */
function drawnPolicy(
  methods: readonly AgentMethod[],
  { spec, random }: SearchContext,
): Action | null {
  const policies = spec.context_tokens === undefined ? [] : methods.filter(setsCache);
  if (policies.length === 0) return null;
  if (spec.constraints.max_kv_gb === undefined && random() < 0.5) return null;
  const entry = policies[Math.floor(random() * policies.length)]!;
  return actionOf(entry, randomParams(entry.method.knobs, random));
}

/** Weights with random knobs before a policy of the cache where a context is asked for: half of the time. */
function drawnWeights(
  methods: readonly AgentMethod[],
  { spec, random }: SearchContext,
): Action | null {
  const weights = spec.context_tokens === undefined ? [] : methods.filter((one) => !setsCache(one));
  if (weights.length === 0 || random() < 0.5) return null;
  const entry = weights[Math.floor(random() * weights.length)]!;
  return actionOf(entry, randomParams(entry.method.knobs, random));
}

/** Every recipe of the knobs' grids in order: what remains when drawing finds nothing new. */
function* inOrder(
  methods: readonly AgentMethod[],
  embeddings: readonly Action[],
  facts: Facts,
) {
  for (const entry of methods) {
    let looked = 0;
    for (const params of knobCombinations(Object.entries(entry.method.knobs))) {
      if (++looked > LOOKED_THROUGH) break;
      const action = actionOf(entry, params);
      yield [action];
      if (!partsOf(entry.method, params, facts).includes("embedding")) {
        for (const embedding of embeddings.slice(0, 4)) yield [action, embedding];
      }
    }
  }
}

/**
 * A recipe drawn from the knobs' spaces that `admissible` lets through: one method with random
 * knobs, half of the time with an action on the embedding behind it, and half of the time with one
 * before it where its order lets one, and where a context is asked for with a policy of the cache. Null when neither drawing
 * nor looking through the grids finds one.
 */
export function explore(
  context: SearchContext,
  methods: readonly AgentMethod[],
  admissible: (actions: readonly Action[]) => boolean,
  { weight, worthwhile, thorough = true }: Preferences,
): Action[] | null {
  const { facts, random } = context;
  if (methods.length === 0) return null;
  const embeddings = embeddingActions(methods, facts);
  for (let draw = 0; draw < DRAWS; draw++) {
    const entry = weighted(methods, weight, random);
    const params = randomParams(entry.method.knobs, random);
    // Near 8 bits first: the output head may share the embedding.
    const [both, which] = [random() < 0.5, random() ** 4];
    const parts = partsOf(entry.method, params, facts);
    if (onlyEmbedding(parts)) continue;
    const second = embeddings[Math.floor(which * embeddings.length)];
    const apart = !parts.includes("embedding");
    const action = actionOf(entry, params);
    const actions = both && apart && second !== undefined ? [action, second] : [action];
    const before = preparing(entry, params, methods, facts);
    if (before.length > 0 && random() < 0.5) {
      const first = before[Math.floor(random() * before.length)]!;
      actions.unshift(actionOf(first, randomParams(first.method.knobs, random)));
    }
    const other = setsCache(entry) ? drawnWeights(methods, context) : drawnPolicy(methods, context);
    if (other !== null && setsCache(entry)) actions.unshift(other);
    else if (other !== null) actions.push(other);
    if (worthwhile(actions) && admissible(actions)) return actions;
  }
  if (!thorough) return null;
  const beginning = methods.filter((entry) => weight(entry) > 0);
  for (const actions of inOrder(beginning, embeddings, facts)) {
    if (admissible(actions)) return actions;
  }
  return null;
}
