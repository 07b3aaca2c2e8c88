import type { StudyView } from "../view/study_view.ts";
import { type Block, heading, table } from "./blocks.ts";

/** Why each trial was tried, in the words of whoever proposed it: a rule, an earlier study, a sampler. */
export function searchBlocks({ trials }: StudyView): Block[] {
  const rows = trials.flatMap(({ number, strategy }) => {
    if (strategy === null) return [];
    const { sampler, reason } = strategy.origin;
    return [[`t${String(number).padStart(2, "0")}`, sampler.replaceAll("_", " "), reason]];
  });
  if (rows.length === 0) return [];
  return [heading(2, "Why each was tried"), table(["trial", "proposed by", "reason"], rows)];
}
