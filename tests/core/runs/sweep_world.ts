/** A policy of the cache, and a sweep of it in the loop's scripted world. */
import { kindOf, type Method, StudyRequest } from "../../../core/mod.ts";
import { methods, plugins, smallFacts } from "../spec_fixtures.ts";
import { world } from "../study_world.ts";

const round = methods.find(({ method }) => method.name === "round")!;

/** A policy of the cache whose bits are its budget. */
const keep = (name: string, more: Partial<Method> = {}) => ({
  agent: "kv_cache",
  method: {
    ...round.method,
    name,
    order: { ...round.method.order, effect: "caches" },
    leaves: (_params: unknown, { model }: ReturnType<typeof smallFacts>) => ({
      changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
      model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 }, evict_after: "context" } },
    }),
    keeping: (bits: number) => bits < 1 ? { refused: "it keeps no share" } : { bits },
    ...more,
  } as unknown as Method,
});

/** Goes token by token: it chooses by nothing that was read. */
const drop = keep("drop", {
  leaves: (_params: unknown, { model }: ReturnType<typeof smallFacts>) => ({
    changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
    model: { ...model, cache: { kept_tokens: { mean: 64, most: 64 } } },
  }),
} as unknown as Partial<Method>);

export const known = [
  ...methods,
  drop,
  keep("choose"),
  keep("whole", { keeping: undefined } as object),
];

/** A sweep of one policy at these budgets, and what its kind is given. */
export function sweepWorld(budgets: readonly number[]) {
  const strategies = { sweep: { methods: ["choose"], budgets } };
  const made = world(strategies as object, {
    methods: known,
    spec: (spec) => ({ ...spec, constraints: { ...spec.constraints, max_accuracy_drop: 0.5 } }),
  });
  const request = StudyRequest.parse({ model_name: "small", dataset: "words", ...strategies });
  const kind = kindOf(request);
  const spec = kind.spec(request, smallFacts(), { ...plugins, methods: known });
  return { made, kind, spec, input: { ...made.input({ methods: known, spec }), request } };
}
