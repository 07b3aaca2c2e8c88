import { defineAgent } from "../../core/mod.ts";

/** Checkpoints of the same model that somebody else made: downloads, files of other tools. */
export default defineAgent({
  name: "elsewhere",
  summary: "Takes checkpoints of the same model that were made elsewhere, as trials like others",
});
