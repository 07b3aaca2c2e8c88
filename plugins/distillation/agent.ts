import { defineAgent } from "../../core/mod.ts";

/** Learning from the uncompressed model: the methods are the other files of this folder. */
export default defineAgent({
  name: "distillation",
  summary: "Trains what a chain has made of the model by what the uncompressed one answers",
});
