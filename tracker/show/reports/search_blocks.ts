import { beliefMoments } from "../../../core/mod.ts";
import { number } from "../view/number_text.ts";
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

/** What a sampler that goes by beliefs thinks of each method at the end, and how it came to it. */
export function beliefBlocks(
  { beliefs }: StudyView,
  { svg, file }: { svg: string | null; file: string },
): Block[] {
  const last = beliefs.at(-1);
  if (last === undefined) return [];
  const rows = last.beliefs.map((one) => ({ ...one, ...beliefMoments(one) }))
    .sort((a, b) => b.mean - a.mean)
    .map(({ method, mean, deviation, alpha, beta, trials }) => [
      method,
      `${number(mean)} ± ${number(deviation)}`,
      `${number(alpha)}, ${number(beta)}`,
      String(trials),
    ]);
  const caption =
    "The mean of each method's belief after every episode, with a band of one standard " +
    "deviation: the probability that a recipe with it has a better reward than another trial.";
  return [
    heading(2, "What the search believes of each method"),
    table(["method", "mean ± deviation", "α, β", "trials"], rows),
    ...(svg === null ? [] : [{ block: "figure" as const, svg, file, caption }]),
  ];
}
