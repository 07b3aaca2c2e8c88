import { defineMethod, flag, integer, real } from "../../core/mod.ts";
import { BUDGET, GRANULARITY, OWN_WINDOW } from "./_cache.ts";

/** Attention of queries to come (Devoto et al. 2025, arXiv 2510.00636), with kvpress's defaults. */
export default defineMethod({
  ...OWN_WINDOW,
  name: "expected_attention",
  summary: "Keeps keys and values of the tokens that those to come will probably look at",
  knobs: {
    ...BUDGET,
    sinks: { ...BUDGET.sinks, default: 4 },
    window: { ...BUDGET.window, minimum: 0, default: 0, log: false },
    future: integer({
      minimum: 1,
      maximum: 8192,
      default: 512,
      unit: "tokens",
      log: true,
      description: "Tokens to come over whose places queries are turned, on average",
      aliases: ["n_future_positions"],
    }),
    use_covariance: flag({
      default: true,
      description: "Whether it counts how far the prompt's queries lie from their mean",
    }),
    use_vnorm: flag({
      default: true,
      description: "Whether attention counts by the length of the value that it brings",
    }),
    epsilon: real({
      minimum: 0,
      maximum: 1,
      default: 0,
      unit: "attention",
      description: "Attention that each token has beside what is expected",
      only_where: { knob: "use_vnorm", is: [true] },
    }),
    granularity: GRANULARITY,
  },
});
