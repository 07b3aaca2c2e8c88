/** The index and its log damaged, and a journal that lost its end behind an index that has it. */
import { indexTargets } from "../bytes/index_targets.ts";
import { walkBytes } from "../bytes/walk_bytes.ts";
import type { Loop } from "../loop.ts";

export const index: Loop = {
  name: "index",
  about: "places of the index, of its log and of a journal behind it damaged: every answer stays",
  reaches: ["an index is made anew"],
  open: async (seed, folder) => walkBytes(await indexTargets(folder), seed),
};
