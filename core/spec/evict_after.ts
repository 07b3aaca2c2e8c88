import type { Support } from "../contract/change.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { EvictAfter, Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import type { Assumption } from "../schemas/spec.ts";
import { type AskedAction, askedActions } from "../strategies/method_data.ts";
import type { AgentMethod } from "../strategies/resolve_action.ts";

type Params = ResolvedAction["params"];

/** What a kind of run says of its plan. */
export interface Planned {
  /** Those that it names. */
  readonly actions: readonly AskedAction[];
  /** Whether it compares what is left of caches, whatever its methods choose by. */
  readonly counts_caches?: boolean;
  /** What it costs beside the quality where nobody asks for another front, and why. */
  readonly costs?: { readonly metrics: readonly string[]; readonly reason: string };
}

/** Where what a method leaves lets go of the cache by what was read; undefined: nowhere. */
function evictsAfter({ method }: AgentMethod, params: Params, facts: Facts) {
  return method.leaves(params, facts).model.cache?.evict_after;
}

function evictsByDefault(entry: AgentMethod, facts: Facts): EvictAfter | undefined {
  const defaults = Object.entries(entry.method.knobs).map(([name, knob]) => [name, knob.default]);
  return evictsAfter(entry, Object.fromEntries(defaults), facts);
}

/**
 * How a study scores where it names a method that chooses what to keep by what was read, or asks for a
 * context and leaves no method out: every trial, the baseline too, on what follows a context. Others read
 * whole texts, so that no figure of them changes for a method that nobody asked for; but where caches are to be
 * counted, which whole texts leave none of. `methods` are those that its runtime holds.
 */
export function evictAfter(
  request: Pick<RunRequest, "methods" | "strategies" | "context_tokens">,
  { actions, counts_caches = false }: Planned,
  methods: readonly AgentMethod[],
  facts: Facts,
): { evict_after?: EvictAfter; assumptions: Assumption[] } {
  const named = new Set([
    ...request.methods ?? [],
    ...askedActions(request, actions).map(({ action }) => action.method),
  ]);
  const all = request.context_tokens !== undefined && request.methods === undefined &&
    actions.length === 0;
  const able = methods.filter((entry) =>
    entry.held?.(facts).ok !== false && evictsByDefault(entry, facts) !== undefined
  );
  const asking = able.find(({ method }) => all || named.has(method.name));
  const choosing = asking ?? (counts_caches ? able[0] : undefined);
  if (choosing === undefined) return { assumptions: [] };
  const evict_after = evictsByDefault(choosing, facts)!;
  const asked = all ? "a context is asked for, and " : "";
  const why = asking === undefined
    ? "what is left of a cache is counted"
    : `${asked}${asking.method.name} chooses what to keep by what it has read`;
  const reason = `${why}: of every trial, the baseline too, only what follows a context is scored`;
  const assumption = {
    field: "evict_after",
    value: evict_after,
    source: "inferred",
    reason,
  } as const;
  return { evict_after, assumptions: [assumption] };
}

/**
 * The methods as a study can score them: one that chooses by what was read is refused where texts are
 * read whole, as its figures would be those of the whole cache.
 */
export function scoredMethods<M extends AgentMethod>(
  methods: readonly M[],
  evict_after: EvictAfter | undefined,
): M[] {
  if (evict_after !== undefined) return [...methods];
  const refusal: Support = {
    ok: false,
    reason:
      "what it keeps depends on what it has read, and this study scores whole texts: a study " +
      "that names it from the beginning scores what follows each context",
  };
  // What refuses it anyway, such as the study's runtime, says more than the protocol.
  return methods.map((entry) => ({
    ...entry,
    held: (facts: Facts) => {
      const held = entry.held?.(facts) ?? { ok: true };
      return held.ok && evictsByDefault(entry, facts) !== undefined ? refusal : held;
    },
    method: {
      ...entry.method,
      accepts: (params: Params, facts: Facts) => {
        const own = entry.method.accepts(params, facts);
        return own.ok && evictsAfter(entry, params, facts) !== undefined ? refusal : own;
      },
    },
  }));
}
