import { defineAgent } from "../../core/mod.ts";

/** Training on text: the methods are the other files of this folder. */
export default defineAgent({
  name: "finetuning",
  summary: "Trains weights on windows of text, to win back what compression cost",
});
