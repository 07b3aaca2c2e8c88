import { z } from "zod";
import { Endpoint } from "../../schemas/endpoint.ts";
import { Judge } from "../../schemas/scoring/judge.ts";
import { Rubric } from "../../schemas/scoring/rubric.ts";
import { Configuration } from "./configuration.ts";

/** What a study that compresses nothing evaluates, beyond a model that lies here. */
export const EvaluationOnly = z.strictObject({
  endpoint: Endpoint.optional().describe("the model is behind this server; absent: it lies here"),
  judge: Judge.optional().describe("judges what is written, by tasks' own scorers or `rubric`"),
  panel: z.array(Judge).max(8).optional().describe("further judges: their majority counts"),
  rubric: Rubric.optional().describe(
    "every answer that is written is judged by it; absent: where a task says so",
  ),
  chat_template: z.boolean().default(false).describe("prompts stand in the model's chat template"),
  configuration: Configuration.optional().describe(
    "what it was configured by; absent: by the fields of the study alone",
  ),
});
export type EvaluationOnly = z.infer<typeof EvaluationOnly>;
