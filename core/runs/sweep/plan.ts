import { z } from "zod";
import { Action, KnobValue } from "../../schemas/action.ts";

/** Tokens of a prompt that a head keeps, or the share of them. */
const Budget = z.union([
  z.int().min(1).describe("tokens"),
  z.number().gt(0).lt(1).describe("share of a prompt"),
]);

/** What a sweep crosses: every method with every budget, on every one of its weights. */
export const SweepPlan = z.strictObject({
  methods: z.array(z.string().min(1)).min(1).describe(
    "of the cache, such as snapkv; of another agent as agent/method",
  ),
  budgets: z.array(Budget).min(1).describe(
    "tokens of a prompt that a head keeps, all of them counted; below 1: the share of them",
  ),
  set: z.record(z.string(), KnobValue).default({}).describe(
    "knobs of every method that has them, such as {window: 16}",
  ),
  weights: z.array(z.array(Action)).default([[]]).describe(
    "actions that make the weights to run on, such as [[], [{agent: quantization, method: gptq}]]; " +
      "default: the original's",
  ),
});
export type SweepPlan = z.infer<typeof SweepPlan>;
