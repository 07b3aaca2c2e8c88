import { z } from "zod";
import { KnobValue } from "../../schemas/action.ts";
import { defineCall } from "../define_call.ts";

/** One dimension of a search space, as `Dimension` of core/search/space.ts. */
const SuggestDimension = z.strictObject({
  name: z.string(),
  kind: z.enum(["real", "integer", "ordinal", "choice"]),
  minimum: z.number().nullable(),
  maximum: z.number().nullable(),
  log: z.boolean(),
  choices: z.array(KnobValue).nullable(),
  when: z.strictObject({ name: z.string(), values: z.array(KnobValue) }).nullable().describe(
    "it exists only where that dimension has one of these values; null: always",
  ),
});

/** A point that was tried, as `Seen` of core/search/space.ts. */
const SeenPoint = z.strictObject({
  point: z.record(z.string(), KnobValue),
  state: z.enum(["done", "stopped", "infeasible", "failed", "pending"]),
  values: z.array(z.number()).nullable().describe("one an objective; null: not measured"),
  violations: z.array(z.number()).nullable().describe("above 0: a constraint is exceeded"),
});

/** Points that a sampler library proposes for a space and all that was tried of it. */
export const suggest = defineCall("suggest", {
  request: {
    seed: z.int(),
    directions: z.array(z.enum(["minimize", "maximize"])).min(1),
    dimensions: z.array(SuggestDimension).describe("each behind the one that it hangs on"),
    seen: z.array(SeenPoint),
    count: z.int().positive().describe("points, each proposed as if those before it had failed"),
  },
  result: z.strictObject({
    points: z.array(z.record(z.string(), KnobValue)),
  }),
});
