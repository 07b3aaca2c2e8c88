import { defineMethod, integer } from "../../core/mod.ts";
import { BY_BUDGET, BY_OBSERVATION, keptOf, leavesBudget, OBSERVED } from "./_cache.ts";

/** Budgets that fall from layer to layer (PyramidKV, Cai et al. 2024, arXiv 2406.02069). */
export default defineMethod({
  ...BY_BUDGET,
  name: "pyramidkv",
  summary: "Keeps what snapkv keeps, more of it in the first layers and less in the last",
  knobs: {
    ...OBSERVED,
    beta: integer({
      minimum: 2,
      maximum: 64,
      default: 20,
      unit: "times",
      log: true,
      description: "How many times less than the mean the last layer chooses",
    }),
  },
  leaves: (params, facts) => {
    const kept = keptOf(params, facts.model.context_length);
    const mean = kept - params.sinks - params.window;
    return leavesBudget(params, facts, kept + mean - Math.floor(mean / params.beta));
  },
  ...BY_OBSERVATION,
});
