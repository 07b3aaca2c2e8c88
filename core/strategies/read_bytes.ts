import type { Part, StoredForm } from "../contract/change.ts";
import type { Runtime } from "../contract/runtime.ts";
import type { ResolvedAction } from "../schemas/action.ts";
import type { Facts, ModelFacts } from "../schemas/facts.ts";
import { chainOf, type Link } from "./chain.ts";
import type { AgentMethod } from "./resolve_action.ts";
import { weightBytes } from "./weight_bytes.ts";

type Reads = NonNullable<Runtime["reads"]>;
type Forms = readonly (StoredForm | null)[];

/** How each part is stored after the actions, by the last one that changed its weights. */
function formsAfter(chain: readonly Link[]): Map<Part, Forms> {
  const forms = new Map<Part, Forms>();
  for (const { leaves } of chain) {
    const stored = leaves.changes.filter(({ effect }) => effect !== "caches");
    for (const part of new Set(stored.map((change) => change.part))) {
      forms.set(part, stored.filter((change) => change.part === part).map(({ form }) => form));
    }
  }
  return forms;
}

/** Bytes of all weights that a token needs; of several forms of a part, the one that is read fastest. */
function readOf(model: ModelFacts, forms: Map<Part, Forms>, reads: Reads): number {
  const stored = weightBytes(model);
  const { linear_parameters, embedding_parameters, tied_embeddings } = model;
  const rest = Math.max(0, model.parameters - linear_parameters - embedding_parameters);
  const part = (name: Part, weights: number, stored_bytes: number) =>
    Math.min(
      ...(forms.get(name) ?? [null]).map((form) => reads({ form, weights, stored_bytes })),
    );
  // A token is looked up in the embedding by one row, and multiplied with the whole head.
  const head = part("embedding", embedding_parameters, stored.embedding) *
    (tied_embeddings ? 1 : 1 / 2);
  return part("linear", linear_parameters, stored.linear) + head +
    reads({ form: null, weights: rest, stored_bytes: stored.rest });
}

/**
 * Bytes of weights that a generated token reads after these actions, over those that it reads of the
 * untouched model: what latency falls to at best, where memory bandwidth is the bound (Williams,
 * Waterman, Patterson 2009, the roofline). Null: the runtime does not tell, or a token's experts are
 * some of many.
 */
export function readRatio(
  actions: readonly ResolvedAction[],
  methods: readonly AgentMethod[],
  facts: Facts,
): number | null {
  const reads = methods.find((one) => one.reads !== undefined)?.reads;
  if (reads === undefined || (facts.model.expert_parameters ?? 0) > 0) return null;
  const chain = chainOf(actions, methods, facts);
  const before = readOf(facts.model, new Map(), reads);
  const after = readOf(chain.at(-1)?.leaves.model ?? facts.model, formsAfter(chain), reads);
  return before > 0 && Number.isFinite(after) ? after / before : null;
}
