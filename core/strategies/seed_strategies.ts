import type { Boldness } from "../contract/plugin.ts";
import type { Action, Origin, ResolvedAction } from "../schemas/action.ts";
import type { Facts } from "../schemas/facts.ts";
import type { Spec } from "../schemas/spec.ts";
import { chainOf, leavesSetting } from "./chain.ts";
import { setsCache, withPolicy } from "./caches/cache_policies.ts";
import { checkStrategy, sizeLimits } from "./compatibility.ts";
import { embeddingActions } from "./embedding_actions.ts";
import { type AgentMethod, resolveActions } from "./resolve_action.ts";
import { readableId, strategyKey } from "./strategy_names.ts";
import { totalBytes, weightBytes } from "./weight_bytes.ts";

/** A recipe to start from. */
export interface SeedStrategy {
  readonly boldness: Boldness;
  readonly actions: Action[];
  readonly origin: Origin;
}

/** A recipe that was considered and cannot run, with the reason: kept for the report. */
export interface RefusedStrategy {
  readonly strategy: string;
  readonly reason: string;
}

const BOLDNESS: readonly Boldness[] = ["conservative", "balanced", "aggressive"];

/** From this share of the predicted bytes on, the embedding is worth an action of its own. */
const LARGE_EMBEDDING = 0.2;

/**
 * Supported methods: the preferred ones first, then the others of their agents, then as the spec lists
 * them. A family that nobody prefers begins no study before one that is preferred.
 */
function methodOrder(spec: Spec, methods: readonly AgentMethod[]): AgentMethod[] {
  const supported = spec.methods.filter((verdict) => verdict.supported);
  const preferred = supported.filter(({ method }) => spec.preferred_quant.includes(method));
  const agents = new Set(preferred.map(({ agent }) => agent));
  const rest = supported.toSorted((a, b) =>
    Number(agents.has(b.agent)) - Number(agents.has(a.agent))
  );
  const names = [...spec.preferred_quant, ...rest.map((verdict) => verdict.method)];
  return [...new Set(names)].flatMap((name) => {
    const verdict = supported.find((one) => one.method === name);
    const entry = methods.find((one) => one.method.name === name && one.agent === verdict?.agent);
    return entry === undefined ? [] : [entry];
  });
}

/** Share of the predicted bytes that an untouched embedding takes; 0 where an action changes it. */
function embeddingShare(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): number {
  const chain = chainOf(actions, methods, facts);
  if (chain.some(({ leaves }) => leaves.changes.some(({ part }) => part === "embedding"))) return 0;
  if (chain.some(({ leaves }) => leavesSetting(leaves))) return 0; // nothing may follow it
  const after = chain.at(-1)?.leaves.model ?? facts.model;
  return weightBytes(after).embedding / totalBytes(after);
}

/** The method's own first try, and an embedding action where the embedding would dominate. */
function recipe(
  { agent, method }: AgentMethod,
  boldness: Boldness,
  methods: readonly AgentMethod[],
  facts: Facts,
): { actions: Action[]; note: string } | null {
  const params = method.seed(boldness, facts);
  if (params === null) return null;
  const actions: Action[] = [{ agent, method: method.name, params }];
  if (boldness === "conservative") return { actions, note: "" };
  const share = embeddingShare(resolveActions(actions, methods, facts), methods, facts);
  const embedding = share < LARGE_EMBEDDING ? undefined : embeddingActions(methods, facts)[0];
  if (embedding === undefined) return { actions, note: "" };
  const note = `; the embedding, ${Math.round(100 * share)} % of the bytes left, is reduced too`;
  return { actions: [...actions, embedding], note };
}

interface Made {
  readonly actions: Action[];
  readonly note: string;
  /** The method that keeps less of the cache behind the others; absent: none does. */
  readonly policy?: string;
}
type Context = Parameters<typeof withPolicy>[3];

/** What a seed begins with: where the cache has a limit, the first with a policy alone. */
function entriesOf(
  boldness: Boldness,
  order: readonly AgentMethod[],
  { context_tokens, constraints: { max_kv_gb } }: Spec,
): readonly AgentMethod[] {
  if (context_tokens === undefined) return order;
  const first = boldness === "conservative" && max_kv_gb !== undefined;
  return order.toSorted((a, b) => (Number(setsCache(a)) - Number(setsCache(b))) * (first ? -1 : 1));
}

/** A first try of a policy on the weights as they are. */
function policyAlone(entry: AgentMethod, boldness: Boldness, context: Context): Made | null {
  const found = withPolicy([], boldness, [entry], context);
  return found === null ? null : { actions: found.actions, note: "" };
}

/** The recipe with a policy of the cache behind it where a context is asked for, but for the first. */
function withCache(
  made: Made | null,
  boldness: Boldness,
  policies: readonly AgentMethod[],
  context: Context,
): Made | null {
  const { constraints: { max_kv_gb }, context_tokens } = context.spec;
  const plain = context_tokens === undefined ||
    (boldness === "conservative" && max_kv_gb === undefined);
  const found = made === null || plain
    ? null
    : withPolicy(made.actions, boldness, policies, context);
  if (made === null || found === null) return made;
  const note = `${made.note}; ${found.policy.method.name} keeps less of the cache at the context`;
  return { actions: found.actions, note, policy: found.policy.method.name };
}

/**
 * One recipe a boldness, from the methods' own first tries in the spec's order of preference. Each
 * takes the first method that no earlier seed used, so that a study of few trials sees several;
 * a method serves twice only where there are no others. Where a context is asked for, policies of the cache
 * follow the weights. What cannot run is told, not tried.
 */
export function seedStrategies(
  spec: Spec,
  facts: Facts,
  methods: readonly AgentMethod[],
): { seeds: SeedStrategy[]; refused: RefusedStrategy[] } {
  const order = methodOrder(spec, methods);
  const allowed = methods.filter((one) => order.includes(one));
  const context = { spec, facts, methods };
  const seeds: SeedStrategy[] = [];
  const refused = new Map<string, RefusedStrategy>();
  const used = new Set<string>();
  const keys = new Set<string>();
  for (const boldness of BOLDNESS) {
    const own = entriesOf(boldness, order, spec);
    const fresh = own.filter(({ method }) => !used.has(method.name));
    const again = own.filter(({ method }) => used.has(method.name));
    const policies = [...fresh, ...again, ...order].filter(setsCache);
    for (const entry of [...fresh, ...again]) {
      const made = setsCache(entry) && spec.context_tokens !== undefined
        ? policyAlone(entry, boldness, context)
        : withCache(recipe(entry, boldness, allowed, facts), boldness, policies, context);
      if (made === null) continue;
      const resolved = resolveActions(made.actions, methods, facts);
      const key = strategyKey(resolved);
      if (keys.has(key)) continue;
      const limits = sizeLimits(spec);
      const verdict = checkStrategy(resolved, methods, facts, limits);
      if (!verdict.ok) {
        const strategy = readableId(0, resolved).replace(/^s00-/, "");
        refused.set(key, { strategy, reason: verdict.reason });
        continue;
      }
      const reason = `${boldness} seed: ${entry.method.summary}${made.note}`;
      seeds.push({
        boldness,
        actions: made.actions,
        origin: { sampler: "seed", mode: "seed", reason },
      });
      used.add(entry.method.name);
      if (made.policy !== undefined) used.add(made.policy);
      keys.add(key);
      break;
    }
  }
  return { seeds, refused: [...refused.values()] };
}
