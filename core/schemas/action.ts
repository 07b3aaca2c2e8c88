import { z } from "zod";

/** A knob's value as it stands in a strategy; `"auto"` leaves the choice to the method. */
export const KnobValue = z.union([z.number(), z.string(), z.boolean()]);
export type KnobValue = z.infer<typeof KnobValue>;

/** One agent's method with its parameters. */
export const Action = z.strictObject({
  agent: z.string().min(1).describe("folder of the method, such as quantization"),
  method: z.string().min(1).describe("name of the method, such as gptq"),
  params: z.record(z.string(), KnobValue).default({}).describe(
    'knobs by name; a knob left out takes its default, "auto" is resolved and the choice stored',
  ),
});
export type Action = z.infer<typeof Action>;
/** As a user gives it: without parameters, the method's defaults. */
export type ActionInput = z.input<typeof Action>;

/** A knob's value and who put it there. */
export const ResolvedKnob = z.strictObject({
  knob: z.string(),
  value: KnobValue,
  by: z.enum(["default", "method", "user", "seed", "sampler"]).describe(
    "user: of the request's own strategies; seed: a method's first proposal; sampler: chosen in " +
      'the search; method: chosen for "auto"; default: what is left. Old records say user for all ' +
      "that a strategy held, whoever made it",
  ),
  reason: z.string().nullable(),
});
export type ResolvedKnob = z.infer<typeof ResolvedKnob>;

/** An action whose every knob has a value: what is hashed, run and stored. */
export const ResolvedAction = z.strictObject({
  agent: z.string(),
  method: z.string(),
  params: z.record(z.string(), KnobValue),
  resolved: z.array(ResolvedKnob),
  // Absent in old records, and where the method says nothing.
  label: z.array(z.string()).optional().describe(
    "what tells the parameters from others, in the method's words: 4-bit, g64",
  ),
  title: z.string().optional().describe("what names it in the place of method and label"),
});
export type ResolvedAction = z.infer<typeof ResolvedAction>;

/** Where a strategy came from. */
export const Origin = z.strictObject({
  sampler: z.string().describe("sampler's name, or user"),
  mode: z.enum(["seed", "exploit", "explore", "user"]),
  reason: z.string().describe("one sentence for the report"),
});
export type Origin = z.infer<typeof Origin>;

/** An ordered list of actions: a recipe. */
export const Strategy = z.strictObject({
  strategy_id: z.string().describe("readable, unique in its study, such as s03-gptq-4bit"),
  actions: z.array(Action).min(1),
  origin: Origin,
});
export type Strategy = z.infer<typeof Strategy>;

/** A knob as its declaration has it, for the Python half. */
export const KnobDescription = z.strictObject({
  name: z.string(),
  kind: z.enum(["choice", "integer", "real", "flag"]),
  default: KnobValue,
  unit: z.string(),
  choices: z.array(KnobValue).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  pattern: z.string().optional(),
});
export type KnobDescription = z.infer<typeof KnobDescription>;
