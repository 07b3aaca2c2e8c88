import { choice, integer } from "../../core/mod.ts";

const KINDS = ["kivi", "turboquant", "turboquant_unbiased"];
const CODED = { knob: "codes", is: KINDS };
const codes = (choices: readonly string[]) =>
  choice(choices, {
    default: choices[0]!,
    unit: "name",
    description:
      "How tokens are stored: as they are; as KIVI's codes, keys by channel and values by token; or TurboQuant's, of a turned direction, with keys whose products with queries are right on average",
  });

/** Knobs of how kept tokens are stored, as `CodeParams` of `cache/method.py`. */
export const CODES = {
  codes: codes(["none", ...KINDS]),
  code_bits: choice([2, 3, 4], {
    default: 4,
    unit: "bits",
    description: "Bits of a code",
    aliases: ["nbits"],
    only_where: CODED,
  }),
  code_group: choice([16, 32, 64, 128], {
    default: 32,
    unit: "tokens or features",
    description: "Codes that share a least value and a step",
    aliases: ["q_group_size"],
    only_where: { knob: "codes", is: ["kivi"] },
  }),
  code_residual: integer({
    minimum: 0,
    maximum: 512,
    default: 32,
    unit: "tokens",
    description: "Latest tokens that are no codes",
    aliases: ["residual_length"],
    only_where: CODED,
  }),
};

/** The same where codes are all that a method does. */
export const CODES_ALONE = { ...CODES, codes: codes(KINDS) };

export interface Codes {
  readonly codes: string;
  readonly code_bits: number;
}

/** In words for names. */
export const codesLabel = ({ codes, code_bits }: Codes): string[] =>
  codes === "none" ? [] : [codes, `${code_bits}-bit`];
