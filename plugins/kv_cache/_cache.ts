import type { Boldness, Facts, Leaves, Method, ModelFacts, Support } from "../../core/mod.ts";

/** Tokens that a cache may be left with. */
export const TOKENS = { minimum: 16, maximum: 131_072 } as const;
/** Parts of the context that a first try keeps, and the most tokens of it. */
const FIRST_TRIES = {
  conservative: { part: 4, most: 1024 },
  balanced: { part: 8, most: 512 },
  aggressive: { part: 16, most: 256 },
} as const;

/** The largest power of two that is no more than a part of the context, within the range. */
export function firstTokens({ model }: Facts, boldness: Boldness): number {
  const { part, most } = FIRST_TRIES[boldness];
  const room = Math.min(most, model.context_length / part);
  return Math.max(TOKENS.minimum, 2 ** Math.floor(Math.log2(Math.max(1, room))));
}

/** Twice as many tokens where quality was lost, half as many where it was not; null: out of range. */
export function otherTokens(tokens: number, finding: "lost" | "kept"): number | null {
  const other = finding === "lost" ? tokens * 2 : Math.floor(tokens / 2);
  return other < TOKENS.minimum || other > TOKENS.maximum ? null : other;
}

/** Where all that the model can read is kept, nothing is gained. `what` keeps it. */
export function keepsLess(tokens: number, what: string, { model }: Facts): Support {
  if (tokens < model.context_length) return { ok: true };
  const reason =
    `${what} ${tokens} tokens, all of the ${model.context_length} that the model reads`;
  return { ok: false, reason };
}

/** What such a method leaves: the weights as they are, and a cache of so many tokens. */
export function leavesCache({ model }: Facts, cache: NonNullable<ModelFacts["cache"]>): Leaves {
  return {
    changes: [{ part: "cache", effect: "caches", form: null, least_cosine: null }],
    model: { ...model, cache },
  };
}

/** What every method of the cache declares alike. */
export const CACHE = {
  needs: { environment: "default", gpu: false },
  order: {
    effect: "caches",
    follows: [],
    precedes: [],
    reason: "it takes the whole cache as the model makes it",
  },
  supports: ({ model }: Facts): Support =>
    model.custom_code
      ? { ok: false, reason: "the model brings its own code, which may keep its cache elsewhere" }
      : { ok: true, reason: "works on keys and values of layers with full attention" },
  /** Reading the parent's index and writing a file of a few lines. */
  estimateSeconds: () => 3,
  estimateMemory: (_params: unknown, { model }: Facts) => model.fp16_bytes,
} as const satisfies Partial<Method>;
