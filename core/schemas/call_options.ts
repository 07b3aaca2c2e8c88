import { z } from "zod";

/**
 * Options of a study that reach a worker's call as they were asked, by the call. The request's document, the
 * call's declaration and what is kept between them take them from here: a new one is a line here, its flag
 * in the table of options, and a field of Python's request. What a method is asked is a knob of its own.
 */
export const CALL_OPTIONS = {
  apply: z.strictObject({}),
  evaluate: z.strictObject({
    answer_chars: z.int().min(0).optional().describe(
      "characters of each answer that are stored; default 4000",
    ),
    allow_unsafe_code: z.boolean().default(false).describe(
      "run the code that a model writes without a sandbox, which may do anything; it is recorded",
    ),
  }),
  speed: z.strictObject({}),
  verify: z.strictObject({}),
};

/** The options of each call. */
export type CallOptions = {
  readonly [Call in keyof typeof CALL_OPTIONS]: z.infer<(typeof CALL_OPTIONS)[Call]>;
};

/** Those of all calls, as fields of a request. */
export const CALL_OPTION_FIELDS = {
  ...CALL_OPTIONS.apply.shape,
  ...CALL_OPTIONS.evaluate.shape,
  ...CALL_OPTIONS.speed.shape,
  ...CALL_OPTIONS.verify.shape,
};

/** Those of a request, by the call. */
export function callOptions(request: CallOptions[keyof CallOptions]): CallOptions {
  const of = <Call extends keyof CallOptions>(call: Call) =>
    z.object(CALL_OPTIONS[call].shape).parse(request) as CallOptions[Call]; // its own shape
  return {
    apply: of("apply"),
    evaluate: of("evaluate"),
    speed: of("speed"),
    verify: of("verify"),
  };
}
