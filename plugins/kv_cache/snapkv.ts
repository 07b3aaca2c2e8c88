import { defineMethod } from "../../core/mod.ts";
import { BY_BUDGET, BY_OBSERVATION, OBSERVED } from "./_cache.ts";

/** The tokens that a prompt's last ones look at (SnapKV, Li et al. 2024, arXiv 2404.14469). */
export default defineMethod({
  ...BY_BUDGET,
  name: "snapkv",
  summary: "Keeps keys and values of the tokens that the last ones of a prompt look at",
  knobs: OBSERVED,
  ...BY_OBSERVATION,
});
