import { z } from "zod";
import { UsageError } from "../../errors.ts";
import { Action, KnobValue } from "../../schemas/action.ts";

/** Tokens of a prompt that a head keeps, or the share of them. */
const Budget = z.number().positive().refine(
  (budget) => budget < 1 || Number.isSafeInteger(budget),
  "a budget is a whole number of tokens, or below 1 the share of a prompt",
);

/** The whole cache, which papers list among the methods: the baseline of every sweep is it. */
export const FULL_CACHE = "full";

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

/** The methods that a plan crosses with its budgets. @throws UsageError where it has none */
export function sweptMethods({ methods }: SweepPlan): string[] {
  const swept = methods.filter((word) => word !== FULL_CACHE);
  if (swept.length > 0) return swept;
  throw new UsageError(
    `Cannot sweep ${FULL_CACHE} alone: it is the baseline of every sweep; name a method beside it`,
  );
}
