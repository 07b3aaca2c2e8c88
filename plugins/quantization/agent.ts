import { defineAgent } from "../../core/mod.ts";

/** Fewer bits per weight: the methods are the other files of this folder. */
export default defineAgent({
  name: "quantization",
  summary: "Stores weights as integers of 2 to 8 bits with a scale for each group of them",
  preferred: { large: ["gptq", "autoround"], small: ["int8", "autoround", "gptq"] },
});
