import {
  type Boldness,
  choice,
  type Facts,
  integer,
  type KeptCache,
  type Leaves,
  type Method,
  type ModelFacts,
  real,
  type Support,
} from "../../core/mod.ts";
import { codedOf, CODES, type Codes, codesLabel } from "./_codes.ts";

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

/** Why a first try keeps so much. */
export const firstReason = ({ model }: Facts): string =>
  `at most an eighth of the ${model.context_length} tokens that the model reads`;

/** Twice as many tokens where quality was lost, half as many where it was not; null: out of range. */
export function otherTokens(tokens: number, finding: "lost" | "kept"): number | null {
  const other = finding === "lost" ? tokens * 2 : Math.floor(tokens / 2);
  return other < TOKENS.minimum || other > TOKENS.maximum ? null : other;
}

/** Where all that the model can read is kept, nothing is gained. `what` keeps it. */
export function keepsLess(tokens: number, what: string, { model }: Facts): Support {
  const reason = keepsAll(tokens, what, model.context_length);
  return reason === null ? { ok: true } : { ok: false, reason };
}

/** Why nothing is gained on a model that reads so many tokens; null: something is, or it is not known. */
export const keepsAll = (tokens: number, what: string, reads = Infinity): string | null =>
  tokens < reads ? null : `${what} ${tokens} tokens, all of the ${reads} that the model reads`;

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
  supports: ({ model: { custom_code, whole_cache } }: Facts): Support => {
    if (whole_cache !== null && whole_cache !== undefined) {
      return { ok: false, reason: whole_cache };
    }
    return custom_code
      ? { ok: false, reason: "the model brings its own code, which may keep its cache elsewhere" }
      : { ok: true, reason: "works on keys and values of layers with full attention" };
  },
  /** Reading the parent's index and writing a file of a few lines. */
  estimateSeconds: () => 3,
  estimateMemory: (_params: unknown, { model }: Facts) => model.fp16_bytes,
} as const satisfies Partial<Method>;

/** Knobs of a budget, as `BudgetParams` of `cache/method.py`. */
export const BUDGET = {
  budget_in: choice(["tokens", "share"], {
    default: "tokens",
    unit: "name",
    description: "Whether a budget is a number of tokens or a share of each prompt",
  }),
  budget: integer({
    ...TOKENS,
    default: 512,
    unit: "tokens",
    log: true,
    description: "Tokens of a prompt that a head keeps, sinks and window included",
    aliases: ["max_capacity_prompt"],
    only_where: { knob: "budget_in", is: ["tokens"] },
  }),
  share: real({
    minimum: 0.01,
    maximum: 0.99,
    default: 0.25,
    unit: "share of the prompt",
    description: "Share of a prompt's tokens that a head keeps, sinks and window included",
    only_where: { knob: "budget_in", is: ["share"] },
  }),
  sinks: integer({
    minimum: 0,
    maximum: 64,
    default: 0,
    unit: "tokens",
    description: "Tokens at the beginning that are always kept",
  }),
  window: integer({
    minimum: 1,
    maximum: 512,
    default: 32,
    unit: "tokens",
    log: true,
    description: "Last tokens of the prompt, which are always kept",
    aliases: ["window_size"],
  }),
  ...CODES,
};

/** When tokens are let go of, as `SteppedParams` of `cache/method.py`: of methods whose scores go on. */
export const evicting = (first: "after_prompt" | "each_step") => ({
  evicts: choice(["after_prompt", "each_step"], {
    default: first,
    pattern: "each_token", // read one by one, a prompt takes many times as long: for those who ask for it
    unit: "name",
    description:
      "When tokens are let go of: once after the prompt, after each later token too, or also within the prompt as if it were read token by token",
    aliases: ["decoding"],
  }),
  evict_interval: integer({
    minimum: 1,
    maximum: 4096,
    default: 1,
    unit: "tokens",
    log: true,
    description: "Tokens that gather before as many are let go of",
    aliases: ["compression_interval"],
    only_where: { knob: "evicts", is: ["each_step", "each_token"] },
  }),
});
/** How much longer a prompt takes token by token: 256 tokens 7 times (h2o) and 5 (knorm), demo, seconds of a core. */
const TOKEN_BY_TOKEN = 7;
type When = "after_prompt" | "each_step" | "each_token";

/** Who chooses, as `by_key_head` of `cache/scoring.py`. */
export const GRANULARITY = choice(["kv_head_mean", "kv_head_max", "query_head"], {
  default: "kv_head_mean",
  unit: "name",
  description:
    "Who chooses: query heads that share keys by their mean or their most, or each for itself, which keeps the keys once for each",
  aliases: ["kv_cache_granularity", "gqa_score_agg"],
});

/** Knobs of what the last tokens of a prompt look at, as `Params` of `kv_cache/snapkv.py`. */
export const OBSERVED = {
  ...BUDGET,
  kernel: integer({
    minimum: 1,
    maximum: 63,
    default: 5,
    unit: "tokens",
    description: "Neighbours over which the attention is pooled, an odd number",
    aliases: ["kernel_size"],
  }),
  pool: choice(["mean", "max"], {
    default: "mean",
    unit: "name",
    description: "What is taken of the neighbours",
    aliases: ["pooling"],
  }),
  granularity: GRANULARITY,
};

interface Budget extends Codes {
  readonly budget_in: "tokens" | "share";
  readonly budget: number;
  readonly share: number;
  readonly sinks: number;
  readonly window: number;
  readonly evicts?: When;
  readonly evict_interval?: number;
  readonly granularity?: string;
}

/** The usual window, or a quarter of the budget where that is less. */
const windowIn = (budget: number): number => Math.min(32, Math.floor(budget / 4));

/** Tokens of a prompt that a head may keep. */
export function keptOf(
  { budget_in, budget, share, sinks, window }: Pick<
    Budget,
    "budget_in" | "budget" | "share" | "sinks" | "window"
  >,
  tokens: number,
): number {
  if (budget_in === "tokens") return budget;
  return Math.max(sinks + window, Math.floor(share * tokens));
}

const KEEPS = "the budget keeps";

/** Why such knobs go together on no model, or on none that reads so many tokens. */
export function budgetClash(given: Partial<Budget>, reads?: number): string | null {
  const { budget_in = "tokens", budget, share = 0, sinks = 0, window = 0 } = given;
  if (budget_in === "tokens" && budget !== undefined && budget <= sinks + window) {
    return `sinks and window hold ${sinks + window} tokens: a budget of ${budget} leaves ` +
      "no room for a choice";
  }
  const { codes = "none", evicts = "after_prompt" } = given;
  return codes === "none" || evicts === "after_prompt"
    ? keepsAll(
      keptOf({ budget_in, budget: budget ?? 0, share, sinks, window }, reads ?? 0),
      KEEPS,
      reads,
    )
    : `tokens that are stored as codes are not let go of ${evicts}: codes are made once, of what ` +
      "the prompt left";
}

export function acceptsBudget(params: Budget, facts: Facts): Support {
  const reason = budgetClash(params);
  if (reason !== null) return { ok: false, reason };
  return keepsLess(keptOf(params, facts.model.context_length), KEEPS, facts);
}

/** What a head keeps of a prompt of so many tokens, and how. */
function keepsOf(params: Budget, tokens: number, facts: Facts): KeptCache {
  const { evicts = "after_prompt", evict_interval = 1, granularity } = params;
  const later = evicts === "after_prompt" ? 0 : evict_interval - 1;
  const kept = Math.min(tokens, keptOf(params, tokens) + later);
  const coded = codedOf(params, kept, facts);
  const { heads, kv_heads } = facts.model;
  return {
    tokens: kept,
    copies: granularity === "query_head" && kept < tokens ? heads / kv_heads : 1,
    ...(coded === undefined ? {} : { coded }),
  };
}

/** What stays by a budget; `most` in any layer, where that is more. */
export function leavesBudget(params: Budget, facts: Facts, most = 0): Leaves {
  const { evicts = "after_prompt", evict_interval = 1 } = params;
  const kept = keptOf(params, facts.model.context_length) +
    (evicts === "after_prompt" ? 0 : evict_interval - 1);
  return leavesCache(facts, {
    kept_tokens: { mean: kept, most: Math.max(kept, most) },
    // Decided token by token, it is the same in a pass over a whole text.
    ...(evicts === "each_token" ? {} : { evict_after: "context" as const }),
  });
}

/** The knobs of a budget: tokens, or below 1 the share of a prompt. */
const budgetOf = (budget: number) =>
  budget < 1
    ? { budget_in: "share", share: budget } as const
    : { budget_in: "tokens", budget } as const;

/** What a method declares whose knobs have such a budget, the same in every layer. */
export const BY_BUDGET = {
  ...CACHE,
  leaves: (params: Budget, facts: Facts): Leaves => leavesBudget(params, facts),
  keeps: keepsOf,
  slowness: ({ evicts }: Budget): number => evicts === "each_token" ? TOKEN_BY_TOKEN : 1,
  label: (params: Budget): string[] => [
    params.budget_in === "tokens" ? `${params.budget}` : `${Math.round(100 * params.share)}%`,
    ...codesLabel(params),
  ],
  hint: (about: "quality" | "memory"): string =>
    about === "quality" ? "Take a larger budget" : "Take a smaller budget",
  clash: budgetClash,
  accepts: acceptsBudget,
  auto: (facts: Facts) => {
    const budget = firstTokens(facts, "balanced");
    return {
      budget: { value: budget, reason: firstReason(facts) },
      window: { value: windowIn(budget), reason: "at most a quarter of the budget" },
    };
  },
  seed: (boldness: Boldness, facts: Facts) => {
    const budget = firstTokens(facts, boldness);
    return { budget, window: windowIn(budget) };
  },
  next: <P extends Budget>(params: P, finding: "lost" | "kept", facts: Facts): P | null => {
    const budget = params.budget_in === "tokens" ? otherTokens(params.budget, finding) : null;
    if (budget === null) return null;
    const next = { ...params, budget, window: Math.min(params.window, windowIn(budget)) };
    return acceptsBudget(next, facts).ok ? next : null;
  },
  keeping: (budget: number, { window }: { readonly window?: number } = {}) => ({
    ...budgetOf(budget),
    ...(budget < 1 || window !== undefined ? {} : { window: windowIn(budget) }),
  }),
};

/** The same for methods whose window is a rule of their own, whatever the budget. */
export const OWN_WINDOW = {
  ...BY_BUDGET,
  auto: (facts: Facts) => ({
    budget: { value: firstTokens(facts, "balanced"), reason: firstReason(facts) },
  }),
  seed: (boldness: Boldness, facts: Facts) => ({ budget: firstTokens(facts, boldness) }),
  keeping: (budget: number) => budgetOf(budget),
};

type Observed = Budget & { readonly kernel: number };

const observedClash = (given: Partial<Observed>, reads?: number): string | null =>
  given.kernel !== undefined && given.kernel % 2 === 0
    ? `a kernel of ${given.kernel} tokens is even`
    : budgetClash(given, reads);

/** The conditions of a budget, and a kernel with a middle. */
export const BY_OBSERVATION = {
  clash: observedClash,
  accepts: (params: Observed, facts: Facts): Support => {
    const reason = observedClash(params);
    return reason === null ? acceptsBudget(params, facts) : { ok: false, reason };
  },
};
