import { defineMethod } from "../../core/mod.ts";
import { BUDGET, evicting, OWN_WINDOW } from "./_cache.ts";

/** Token omission via attention (TOVA, Oren et al. 2024, arXiv 2401.06104). */
export default defineMethod({
  ...OWN_WINDOW,
  name: "tova",
  summary: "Keeps keys and values of the tokens that the last one looks at",
  knobs: { ...BUDGET, window: { ...BUDGET.window, default: 1 }, ...evicting("each_step") },
});
