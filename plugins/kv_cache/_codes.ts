import { choice, type Facts, integer, type KeptCache } from "../../core/mod.ts";

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
  readonly code_group: number;
  readonly code_residual: number;
}

/**
 * Of so many tokens those that are codes, and the bits of a value with its scales, as the coders of
 * `cache/codes.py` store them; undefined: tokens stay as they are.
 */
export function codedOf(
  { codes, code_bits, code_group, code_residual }: Codes,
  tokens: number,
  { model }: Facts,
): KeptCache["coded"] {
  if (codes === "none") return undefined;
  const width = model.head_dim ?? Math.floor(model.hidden_size / model.heads);
  const older = Math.max(0, tokens - code_residual);
  if (codes !== "kivi") {
    // A length of 16 bits a vector; keys whose products are right on average have a second one.
    const value_bits = code_bits + 16 / width;
    const key_bits = value_bits + (codes === "turboquant_unbiased" ? 16 / width : 0);
    return { tokens: older, key_bits, value_bits };
  }
  // Least and step in 16 bits each: of a feature of so many tokens, and of so many features.
  const group = width % code_group === 0 ? code_group : width;
  return {
    tokens: Math.floor(older / code_group) * code_group,
    key_bits: code_bits + 32 / code_group,
    value_bits: code_bits + 32 / group,
  };
}

/** In words for names. */
export const codesLabel = ({ codes, code_bits }: Pick<Codes, "codes" | "code_bits">): string[] =>
  codes === "none" ? [] : [codes, `${code_bits}-bit`];
