import { z } from "zod";

/** How likely a method is to do better than the study's other recipes, as a Beta distribution. */
export const MethodBelief = z.strictObject({
  agent: z.string(),
  method: z.string(),
  trials: z.int().describe("of this study that moved it"),
  alpha: z.number().positive(),
  beta: z.number().positive(),
});
export type MethodBelief = z.infer<typeof MethodBelief>;
