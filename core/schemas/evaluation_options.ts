import { z } from "zod";

/**
 * Options of a study that reach its evaluation as they were asked. The request's document, the worker's
 * call and what is kept between them take them from here: a new one is a line here, its flag in the table
 * of options, and a field of Python's request.
 */
export const EvaluationOptions = z.strictObject({
  answer_chars: z.int().min(0).optional().describe(
    "characters of each answer that are stored; default 4000",
  ),
  allow_unsafe_code: z.boolean().default(false).describe(
    "run the code that a model writes without a sandbox, which may do anything; it is recorded",
  ),
});
export type EvaluationOptions = z.infer<typeof EvaluationOptions>;

/** Those of a request. */
export function evaluationOptions(request: EvaluationOptions): EvaluationOptions {
  return z.object(EvaluationOptions.shape).parse(request);
}
