import { defineMethod, type Facts, real } from "../../core/mod.ts";
import { acceptsBudget, BUDGET, budgetClash, evicting, GRANULARITY, OWN_WINDOW } from "./_cache.ts";

const SHARE = "recent_share";

/**
 * Heavy hitters (H2O, Zhang et al. 2023, arXiv 2306.14048). KVCache-Factory's form of it, in the prompt
 * alone and with a short window, is `recent_share: 0, window: 8, evicts: after_prompt`.
 */
export default defineMethod({
  ...OWN_WINDOW,
  name: "h2o",
  summary: "Keeps keys and values of the tokens that were looked at most, and of the latest",
  knobs: {
    ...BUDGET,
    window: { ...BUDGET.window, default: 8, only_where: { knob: SHARE, is: [0] } },
    ...evicting("each_step"),
    [SHARE]: real({
      minimum: 0,
      maximum: 0.95,
      default: 0.5,
      unit: "share of the budget",
      description: "Share of the budget that the latest tokens have; 0: window says how many",
    }),
    granularity: GRANULARITY,
  },
  keeps(params, tokens, facts) {
    const kept = OWN_WINDOW.keeps(params, tokens, facts);
    // The sum of what was paid to a token stays with it where sums go on, in 32 bits.
    return params.evicts === "after_prompt" ? kept : { ...kept, noted_bytes: 4 };
  },
  clash: (given, reads) => budgetClash({ ...given, window: 0 }, reads), // most often a share of the budget stands for it
  accepts: (params, facts: Facts) => {
    const recent = Math.floor(params.recent_share * params.budget);
    return acceptsBudget({ ...params, window: recent || params.window }, facts);
  },
});
