import assert from "node:assert/strict";
import { BlockMatrix } from "../../core/mod.ts";
import kquant from "../../plugins/quantization/kquant.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const params = {
  ...{ block_mix: "Q4_K_M", embedding_blocks: "mix", head_blocks: "mix", assignment: "none" },
  ...{ kinds_by: "mix", eight_bit_share: 0, rounded_by: "library", importance: true, samples: 4 },
} as const;

Deno.test("where columns move a head of values at a time, blocks of 256 are refused", () => {
  const facts = smallFacts();
  const model = (values: number, architecture: string) => {
    const row = { in_features: 256, blocks: [[0, 23]] };
    const named = (name: string, out_features: number) =>
      BlockMatrix.parse({ ...row, name, out_features });
    const more = [
      named("linear_attn.in_proj_qkv", 2 * 256 + values),
      named("linear_attn.in_proj_z", values),
    ];
    const block_matrices = more;
    return { ...facts, model: { ...facts.model, block_matrices, architecture } };
  };
  const shared = model(512, "Qwen3_5ForCausalLM");
  const small = { ...params, block_mix: "IQ4_NL" } as const;
  assert.match(JSON.stringify(kquant.accepts(params, shared)), /tears blocks of 256/);
  assert.match(
    JSON.stringify(kquant.accepts({ ...small, kinds_by: "fisher" }, shared)),
    /tears blocks of 256/,
  );
  assert.deepEqual(kquant.accepts(small, shared), { ok: true });
  assert.deepEqual(kquant.accepts(params, model(256, "Qwen3_5ForCausalLM")), { ok: true });
  assert.deepEqual(kquant.accepts(params, model(512, "Qwen3NextForCausalLM")), { ok: true });
});
