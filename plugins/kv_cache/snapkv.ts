import { choice, defineMethod, integer } from "../../core/mod.ts";
import { BUDGET, BY_BUDGET } from "./_cache.ts";

/** The tokens that a prompt's last ones look at (SnapKV, Li et al. 2024, arXiv 2404.14469). */
export default defineMethod({
  ...BY_BUDGET,
  name: "snapkv",
  summary: "Keeps keys and values of the tokens that the last ones of a prompt look at",
  knobs: {
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
  },
  accepts: (params, facts) =>
    params.kernel % 2 === 0
      ? { ok: false, reason: `a kernel of ${params.kernel} tokens is even` }
      : BY_BUDGET.accepts(params, facts),
});
