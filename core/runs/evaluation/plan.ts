import { z } from "zod";
import { Endpoint } from "../../schemas/endpoint.ts";
import { Configuration } from "./configuration.ts";

/** What a study that compresses nothing evaluates, beyond a model that lies here. */
export const EvaluationOnly = z.strictObject({
  endpoint: Endpoint.optional().describe("the model is behind this server; absent: it lies here"),
  judge: Endpoint.optional().describe("judges generated answers of TruthfulQA"),
  chat_template: z.boolean().default(false).describe("prompts stand in the model's chat template"),
  configuration: Configuration.optional().describe(
    "what it was configured by; absent: by the fields of the study alone",
  ),
});
export type EvaluationOnly = z.infer<typeof EvaluationOnly>;
