import { defineAgent } from "../../core/mod.ts";

/** Fewer weights: the methods are the other files of this folder. */
export default defineAgent({
  name: "pruning",
  summary: "Takes weights out of the model, one by one or in whole rows",
});
