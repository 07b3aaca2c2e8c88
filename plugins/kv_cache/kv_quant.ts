import { defineMethod } from "../../core/mod.ts";
import { CACHE, leavesCache } from "./_cache.ts";
import { codedOf, CODES_ALONE, codesLabel } from "./_codes.ts";

const BITS = { conservative: 4, balanced: 3, aggressive: 2 } as const;

/** All tokens as codes; methods that let go of some have the same knobs for those that stay. */
export default defineMethod({
  ...CACHE,
  name: "kv_quant",
  summary: "Keeps keys and values of all tokens, as codes of 2 to 4 bits",
  knobs: CODES_ALONE,
  leaves: (_, facts) => {
    const all = facts.model.context_length;
    return leavesCache(facts, { kept_tokens: { mean: all, most: all }, evict_after: "context" });
  },
  keeps(params, tokens, facts) {
    const coded = codedOf(params, tokens, facts);
    return { tokens, copies: 1, ...(coded === undefined ? {} : { coded }) };
  },
  label: codesLabel,
  hint: (about) => about === "quality" ? "Take more bits" : "Take fewer bits",
  accepts: () => ({ ok: true }),
  seed: (boldness) => ({ codes: "kivi", code_bits: BITS[boldness] }),
  next: (params, finding) => {
    const other = params.code_bits + (finding === "lost" ? 1 : -1);
    const code_bits = Object.values(BITS).find((bits) => bits === other);
    return code_bits === undefined ? null : { ...params, code_bits };
  },
});
