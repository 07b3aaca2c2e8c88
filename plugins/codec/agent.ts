import { defineAgent } from "../../core/mod.ts";

/** A shorter code of the weights: the methods are the other files of this folder. */
export default defineAgent({
  name: "codec",
  summary: "Stores blocks of weights as a code that is decoded before they are multiplied",
});
