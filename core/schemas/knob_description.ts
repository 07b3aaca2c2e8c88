import { z } from "zod";
import { KnobValue } from "./action.ts";

/** A knob of a method's Python half, as stage `describe` tells it. */
export const KnobDescription = z.strictObject({
  name: z.string(),
  kind: z.enum(["choice", "integer", "real", "flag"]),
  default: KnobValue,
  unit: z.string(),
  choices: z.array(KnobValue).nullable(),
  minimum: z.number().nullable(),
  maximum: z.number().nullable(),
  pattern: z.string().nullable(),
});
export type KnobDescription = z.infer<typeof KnobDescription>;
