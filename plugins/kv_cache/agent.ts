import { defineAgent } from "../../core/mod.ts";

/** What is kept of the tokens that were read: the methods are the other files of this folder. */
export default defineAgent({
  name: "kv_cache",
  summary:
    "Keeps less of the keys and values of earlier tokens: a setting, the weights stay as they are",
});
