import assert from "node:assert/strict";
import type { ConversionFacts } from "../../../../core/mod.ts";
import { conversionSummary } from "../../../../tracker/exchange/conversion/conversion_summary.ts";

const facts: ConversionFacts = {
  ...{ unreadable: null, layers: [], other_floats: [], fused_apart: [], not_opened: null },
  ...{ tensor_bytes: 900, formula_bytes: 900, opened_by: "llama.cpp", logits_cosine: 0.99999912 },
  ...{
    rounded_cosine: null,
    rounded_kl: null,
    plain_problem: null,
    read_otherwise: null,
    generated_text: "a den",
    not_generated: null,
  },
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

Deno.test("what rounding inputs changes is told beside the weights, which are compared without it", () => {
  const rounded = { ...facts, rounded_cosine: 0.99832878, rounded_kl: 0.011487 };
  const said = conversionSummary(rounded, 1000);
  assert.equal(said[1], "loaded by llama.cpp, of its logits 0.999999, inputs as they are");
  assert.equal(
    said[2],
    "as it rounds inputs, its logits have a cosine of 0.998329 with pare's and a KL of 0.011 nats " +
      "per token",
  );
});

Deno.test("files that fail in their own type are told with the type that they load in", () => {
  const said = conversionSummary(
    { ...facts, plain_problem: "in float16 its logits are inf" },
    1000,
  );
  assert.equal(
    said[2],
    'note: loaded as config.json says it fails, in float16 its logits are inf; loaded with dtype="float32" ' +
      "it is what was compared",
  );
});
