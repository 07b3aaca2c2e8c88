import { z } from "zod";
import { isShare, type ScorerMetric, scorerMetric } from "../../../core/mod.ts";

/** The knob of scorers that compare a text with what a row says is right. */
export const GOLD = z.strictObject({
  gold: z.string().min(1).default("answer").describe(
    "field of the row that holds the right answer, or a list of right ones",
  ),
});

/** Right or wrong, by the name that the task has for it; an accuracy where that is no share. */
export const rightOrWrong = (_: unknown, reported_metric: string): ScorerMetric[] => [
  scorerMetric(isShare(reported_metric) ? reported_metric : "accuracy"),
];
