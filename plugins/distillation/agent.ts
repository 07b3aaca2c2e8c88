import { defineAgent } from "../../core/mod.ts";

/** Learning from the uncompressed model: the methods are the other files of this folder. */
export default defineAgent({
  name: "distillation",
  summary: "Trains what a chain has made of the model by what the uncompressed one answers",
  recovers: [
    {
      after: ["prunes", "resizes"],
      method: "distill",
      params: { steps: 100, student_weights: "auto" },
      reason: "the uncompressed model teaches what is left of it, before weights are rounded",
    },
    {
      after: ["rounds"],
      method: "distill",
      params: { steps: 100, student_weights: "adapter" },
      reason: "the uncompressed model teaches factors beside the rounded weights",
    },
  ],
});
