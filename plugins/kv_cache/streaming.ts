import { choice, defineMethod, type Facts, integer, real, type Support } from "../../core/mod.ts";
import {
  CACHE,
  firstReason,
  firstTokens,
  keepsAll,
  keepsLess,
  leavesCache,
  otherTokens,
  TOKENS,
} from "./_cache.ts";

interface Params {
  readonly sinks: number;
  readonly evicts: string;
  readonly budget_in: string;
  readonly window: number;
  readonly share: number;
}

const KEEP = "sinks and window keep";

/** Tokens of a prompt of so many that a head keeps. */
function keptOf({ sinks, budget_in, window, share }: Params, tokens: number): number {
  return budget_in === "tokens" ? sinks + window : Math.max(sinks + 1, Math.floor(share * tokens));
}

function accepts(params: Params, facts: Facts): Support {
  if (params.budget_in === "share" && params.evicts === "each_token") {
    const reason = "how long a prompt is, is known at its end: a share of it is kept by " +
      "evicts after_prompt";
    return { ok: false, reason };
  }
  return keepsLess(keptOf(params, facts.model.context_length), KEEP, facts);
}

/**
 * Attention sinks and a window (StreamingLLM, Xiao et al. 2024). Keys keep the rotation of their place
 * in the text, where the paper counts places within the cache: `cache/policy.py` says why. KVCache-Factory
 * and kvpress read the prompt in full and cut it at its end, which is `evicts: after_prompt`.
 */
export default defineMethod({
  ...CACHE,
  name: "streaming",
  summary: "Keeps keys and values of the first few tokens, the attention sinks, and of a window",
  knobs: {
    sinks: integer({
      minimum: 0,
      maximum: 64,
      default: 4,
      unit: "tokens",
      description: "Tokens at the beginning that every later one sees",
    }),
    window: integer({
      ...TOKENS,
      default: 512,
      unit: "tokens",
      log: true,
      description: "Latest tokens that a token sees, itself included",
      only_where: { knob: "budget_in", is: ["tokens"] },
    }),
    evicts: choice(["each_token", "after_prompt"], {
      default: "each_token",
      unit: "name",
      description:
        "When tokens are let go of: within the prompt too, as if it were read token by token, or once after it was read in full",
      aliases: ["decoding"],
    }),
    budget_in: choice(["tokens", "share"], {
      default: "tokens",
      unit: "name",
      description:
        "Whether the window is a number of tokens, or sinks and window a share of each prompt, which takes evicts after_prompt",
    }),
    share: real({
      minimum: 0.01,
      maximum: 0.99,
      default: 0.25,
      unit: "share of the prompt",
      description: "Share of a prompt's tokens that a head keeps, sinks included",
      only_where: { knob: "budget_in", is: ["share"] },
    }),
  },
  leaves: (params, facts) => {
    const kept = keptOf(params, facts.model.context_length);
    return leavesCache(facts, {
      kept_tokens: { mean: kept, most: kept },
      ...(params.evicts === "each_token" ? {} : { evict_after: "context" as const }),
    });
  },
  keeps: (params, tokens) => ({ tokens: Math.min(tokens, keptOf(params, tokens)), copies: 1 }),
  label: ({ sinks, evicts, budget_in, window, share }) => [
    budget_in === "share" ? `${Math.round(100 * share)}%` : `${sinks}+${window}`,
    ...(evicts === "each_token" ? [] : ["read whole"]),
  ],
  hint: (about) => about === "quality" ? "Take a longer window" : "Take a shorter window",
  accepts,
  clash: ({ budget_in = "tokens", sinks = 0, window = 0 }, reads) =>
    budget_in === "tokens" ? keepsAll(sinks + window, KEEP, reads) : null,
  auto: (facts) => ({
    sinks: { value: 4, reason: "the paper's: more change little, fewer cost much" },
    window: {
      value: firstTokens(facts, "balanced"),
      reason: firstReason(facts),
    },
  }),
  seed: (boldness, facts) => ({ sinks: 4, window: firstTokens(facts, boldness) }),
  keeping(budget, set) {
    const given = typeof set?.sinks === "number" ? set.sinks : null;
    if (budget < 1) {
      return { sinks: given ?? 4, evicts: "after_prompt", budget_in: "share", share: budget };
    }
    const least = Math.max(0, Math.min(4, budget - TOKENS.minimum)); // a window has a least length
    const sinks = given ?? least;
    return { sinks, window: budget - sinks };
  },
  next: (params, finding, facts) => {
    const window = params.budget_in === "tokens" ? otherTokens(params.window, finding) : null;
    return window !== null && accepts({ ...params, window }, facts).ok
      ? { ...params, window }
      : null;
  },
});
