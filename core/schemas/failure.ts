import { z } from "zod";

/**
 * Why something did not happen. `invalid`, `bad_input`, `not_a_number` and `verification` are
 * facts about the strategy and are remembered; the others are facts about the machine and may be
 * retried.
 */
export const FailureKind = z.enum([
  "invalid", // the strategy cannot run here, known before any heavy work
  "bad_input", // the user's model, data or knob is wrong
  "out_of_memory",
  "not_a_number",
  "verification", // the written artifact is not what was asked for
  "crash",
  "stall",
  "disk_full",
  "missing_environment",
  "endpoint", // a server that is asked is down, fails or answers half
  "cancelled",
]);
export type FailureKind = z.infer<typeof FailureKind>;

export const Failure = z.strictObject({
  kind: FailureKind,
  message: z.string().describe("what was attempted, why not, the value"),
  hint: z.string().nullable().describe("what to do"),
  phase: z.string().nullable().describe("what went on: a worker's call, else a phase of the loop"),
});
export type Failure = z.infer<typeof Failure>;
