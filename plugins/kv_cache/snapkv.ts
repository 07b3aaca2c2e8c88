import { choice, defineMethod, type Facts, integer, real, type Support } from "../../core/mod.ts";
import { CACHE, firstTokens, keepsLess, leavesCache, otherTokens, TOKENS } from "./_cache.ts";

interface Kept {
  readonly budget_in: string;
  readonly budget: number;
  readonly share: number;
  readonly sinks: number;
  readonly window: number;
  readonly kernel: number;
}

/** The paper's window, or a quarter of the budget where that is less. */
const windowIn = (budget: number) => Math.min(32, Math.floor(budget / 4));

/** Tokens that a head keeps of the longest prompt there is. */
function keptOf({ budget_in, budget, share, sinks, window }: Kept, { model }: Facts): number {
  if (budget_in === "tokens") return budget;
  return Math.max(sinks + window, Math.floor(share * model.context_length));
}

function accepts(params: Kept, facts: Facts): Support {
  const { budget_in, budget, sinks, window, kernel } = params;
  if (kernel % 2 === 0) return { ok: false, reason: `a kernel of ${kernel} tokens is even` };
  if (budget_in === "tokens" && budget <= sinks + window) {
    const reason = `sinks and window hold ${sinks + window} tokens: a budget of ${budget} leaves ` +
      "no room for a choice";
    return { ok: false, reason };
  }
  return keepsLess(keptOf(params, facts), "the budget keeps", facts);
}

/** The tokens that a prompt's last ones look at (SnapKV, Li et al. 2024, arXiv 2404.14469). */
export default defineMethod({
  ...CACHE,
  name: "snapkv",
  summary: "Keeps keys and values of the tokens that the last ones of a prompt look at",
  knobs: {
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
      description: "Last tokens of the prompt, which choose and are always kept",
      aliases: ["window_size"],
    }),
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
  },
  leaves: (params, facts) => {
    const kept = keptOf(params, facts);
    return leavesCache(facts, {
      kept_tokens: { mean: kept, most: kept },
      evict_after: "context",
    });
  },
  label: ({ budget_in, budget, share }) =>
    budget_in === "tokens" ? [`${budget}`] : [`${Math.round(100 * share)}%`],
  hint: (about) => about === "quality" ? "Take a larger budget" : "Take a smaller budget",
  accepts,
  auto: (facts) => {
    const budget = firstTokens(facts, "balanced");
    return {
      budget: {
        value: budget,
        reason:
          `at most an eighth of the ${facts.model.context_length} tokens that the model reads`,
      },
      window: { value: windowIn(budget), reason: "at most a quarter of the budget" },
    };
  },
  seed: (boldness, facts) => {
    const budget = firstTokens(facts, boldness);
    return { budget, window: windowIn(budget) };
  },
  next: (params, finding, facts) => {
    const budget = params.budget_in === "tokens" ? otherTokens(params.budget, finding) : null;
    if (budget === null) return null;
    const next = { ...params, budget, window: Math.min(params.window, windowIn(budget)) };
    return accepts(next, facts).ok ? next : null;
  },
});
