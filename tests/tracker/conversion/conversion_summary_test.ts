import assert from "node:assert/strict";
import type { ConversionFacts } from "../../../core/mod.ts";
import { conversionSummary } from "../../../tracker/conversion/conversion_summary.ts";

const facts: ConversionFacts = {
  ...{ unreadable: null, layers: [], other_floats: [], fused_apart: [], not_opened: null },
  ...{ tensor_bytes: 900, formula_bytes: 900, opened_by: "llama.cpp", logits_cosine: 0.99999912 },
  ...{ rounded_cosine: null, rounded_kl: null, generated_text: "a den", not_generated: null },
};

Deno.test("files without a packed layer have no least cosine of layers, but of their logits", () => {
  const said = conversionSummary(facts, 1000);
  assert.deepEqual(said, [
    "no packed layer, 1.0 kB: all weights are floats",
    "loaded by llama.cpp, of its logits 0.999999",
    'it generates: "a den"',
  ]);
  assert.doesNotMatch(said.join(), /Infinity|NaN/);
});
