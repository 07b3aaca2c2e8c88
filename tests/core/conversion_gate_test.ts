import assert from "node:assert/strict";
import { type ConversionFacts, conversionProblems, type ConvertedLayer } from "../../core/mod.ts";

const GRID = "4 bits in groups of 32, symmetric";
const LAYER: ConvertedLayer = {
  layer: "model.layers.0.mlp.up_proj",
  claimed: GRID,
  found: GRID,
  cosine: 1,
  opened_cosine: 0.99999,
  problem: null,
};
const SOUND: ConversionFacts = {
  unreadable: null,
  layers: [LAYER],
  other_floats: [],
  fused_apart: [],
  tensor_bytes: 1005,
  formula_bytes: 1000,
  opened_by: "transformers auto-round",
  not_opened: null,
  logits_cosine: 0.99999,
  rounded_cosine: null,
  rounded_kl: null,
  plain_problem: null,
  read_otherwise: null,
  generated_text: "the fox",
  not_generated: null,
};

const layered = (change: Partial<ConvertedLayer>) =>
  conversionProblems({ ...SOUND, layers: [{ ...LAYER, ...change }] });

Deno.test("files that are as their source can be handed on", () => {
  assert.deepEqual(conversionProblems(SOUND), []);
  const alone = { ...SOUND, opened_by: null, logits_cosine: null, fused_apart: [["a", "b"]] };
  assert.deepEqual(conversionProblems(alone), []);
  assert.deepEqual(layered({ opened_cosine: null }), []);
});

Deno.test("files that a library loads are not handed on before their logits were compared", () => {
  const [problem, ...others] = conversionProblems({ ...SOUND, logits_cosine: null });
  assert.match(problem ?? "", /no logits of it were compared/);
  assert.deepEqual(others, []);
});

Deno.test("a layer that is not its source's is named with what is wrong of it", () => {
  const [bits] = layered({ claimed: "8 bits in groups of 32, symmetric" });
  assert.equal(
    bits,
    "model.layers.0.mlp.up_proj: the files say 8 bits in groups of 32, symmetric, its tensors are " +
      "4 bits in groups of 32, symmetric",
  );
  const scales = "its scales are not those of its source";
  assert.deepEqual(layered({ problem: scales, cosine: 0.5 }), [
    `model.layers.0.mlp.up_proj: ${scales} (cosine 0.5000)`,
  ]);
  assert.match(layered({ claimed: null, problem: null })[0] ?? "", /say nothing of it/);
  assert.match(layered({ found: null, problem: "it has no scales" })[0] ?? "", /it has no scales/);
  assert.match(layered({ cosine: 0.9998 })[0] ?? "", /0\.9998/);
  assert.match(layered({ cosine: NaN })[0] ?? "", /NaN/);
  assert.match(layered({ opened_cosine: 0.99 })[0] ?? "", /the library's layer/);
});

Deno.test("files that are not whole, too large or not loaded are not handed on", () => {
  const problems = (change: Partial<ConversionFacts>) =>
    conversionProblems({ ...SOUND, ...change });
  const gone = "its index names model-00002-of-00002.safetensors, which is missing";
  assert.deepEqual(problems({ unreadable: gone, layers: [] }), [gone]);
  // A format of packed layers refuses such a trial before; floats are compared by their names.
  assert.deepEqual(problems({ layers: [] }), []);
  assert.equal(problems({ layers: [], other_floats: ["model.norm.weight"] }).length, 1);
  assert.match(problems({ other_floats: ["model.norm.weight"] })[0] ?? "", /^model\.norm\.weight/);
  assert.match(problems({ tensor_bytes: 1011 })[0] ?? "", /1011 bytes/);
  assert.match(problems({ not_opened: "ValueError: no" })[0] ?? "", /does not load it: ValueError/);
  assert.match(problems({ logits_cosine: NaN })[0] ?? "", /logits have a cosine of NaN/);
  assert.match(problems({ not_generated: "its logits are not finite" })[0] ?? "", /not finite/);
});
