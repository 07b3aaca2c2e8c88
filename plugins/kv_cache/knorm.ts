import { defineMethod } from "../../core/mod.ts";
import { BUDGET, evicting, OWN_WINDOW } from "./_cache.ts";

/** L2 norms of keys (Devoto et al. 2024, arXiv 2406.11430); no query is looked at. */
export default defineMethod({
  ...OWN_WINDOW,
  name: "knorm",
  summary: "Keeps keys and values of the tokens whose keys are the shortest",
  knobs: {
    ...BUDGET,
    window: { ...BUDGET.window, minimum: 0, default: 0, log: false },
    ...evicting("after_prompt"),
  },
});
