import { z } from "zod";

/** What a run keeps of the configuration that it was asked by: what its scores are made up of. */
export const Configuration = z.strictObject({
  eval_config: z.string().describe("the preset or file, as it was named"),
  name: z.string(),
  num_tasks: z.int().nullable().describe("samples asked for; null: all"),
  datasets: z.array(z.strictObject({
    dataset: z.string(),
    weight: z.number().positive(),
    section: z.string(),
  })).min(1),
  section_weights: z.record(z.string(), z.number().positive()).describe(
    "of each section in the overall score; of one that is absent: the sum of its datasets' weights",
  ),
  left_out: z.array(z.strictObject({ dataset: z.string(), reason: z.string() })).describe(
    "datasets that could not be had when it was asked",
  ),
});
export type Configuration = z.infer<typeof Configuration>;
