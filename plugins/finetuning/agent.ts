import { defineAgent } from "../../core/mod.ts";

/** Training on text: the methods are the other files of this folder. */
export default defineAgent({
  name: "finetuning",
  summary: "Trains weights on windows of text, to win back what compression cost",
  // A rounded part takes no training behind it: there the action goes before the rounding.
  recovers: [{
    after: ["prunes", "resizes", "rounds"],
    method: "lora",
    params: { steps: 100 },
    reason: "low-rank factors learn what was lost, and are merged before weights are rounded",
  }],
});
