import assert from "node:assert/strict";
import { tableBytes, type TableForm } from "../../plugins/forms/table.ts";
import fp from "../../plugins/quantization/fp.ts";
import nf4 from "../../plugins/quantization/nf4.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const shapes = [{ out_features: 192, in_features: 320, count: 2 }];
const plain = { form: "table", block_size: 64, double_quant: false } as const;

Deno.test("codes, scales and scales of scales are counted to the byte", () => {
  const bytes = (form: Partial<TableForm> & Pick<TableForm, "format">) =>
    tableBytes({ ...plain, ...form }, shapes) / 2;
  assert.equal(bytes({ format: "nf4" }), 30720 + 960 * 4 + 32);
  assert.equal(bytes({ format: "fp4", double_quant: true }), 30720 + 960 + 4 * 5 + 32);
  assert.equal(bytes({ format: "mxfp4", block_size: 32 }), 30720 + 1920 + 32);
  assert.equal(bytes({ format: "nvfp4", block_size: 16 }), 30720 + 3840 + 4 + 32);
  assert.equal(bytes({ format: "fp8_e4m3", block_size: -1 }), 61440 + 192 * 4 + 32);
  assert.equal(bytes({ format: "fp8_e4m3", block_size: null }), 61440 + 4 + 32);
});

Deno.test("a method's bytes are those of its form, and it claims no speed", () => {
  const facts = smallFacts();
  for (
    const [changes, form] of [
      [
        fp.leaves({ float_format: "mxfp4", fp8_scale: "per_channel", targets: "linear" }, facts)
          .changes,
        { ...plain, format: "mxfp4", block_size: 32 },
      ],
      [
        nf4.leaves(
          { quant_type: "fp4", block_size: 128, double_quant: true, targets: "linear" },
          facts,
        ).changes,
        { ...plain, format: "fp4", block_size: 128, double_quant: true },
      ],
    ] as const
  ) {
    assert.deepEqual(changes.map((change) => change.form), [form]);
    assert.match(changes[0]?.no_faster ?? "", /emulated by floats/);
  }
});

Deno.test("blocks that do not divide a row are refused before any work", () => {
  const facts = smallFacts();
  const linear_shapes = [{ out_features: 64, in_features: 40, count: 1 }];
  const odd = { ...facts, model: { ...facts.model, linear_shapes } };
  const params = { float_format: "nvfp4", fp8_scale: "per_channel", targets: "linear" } as const;
  const refused = {
    ok: false,
    reason: "a group size of 16 does not divide the rows of 40 weights",
  };
  assert.deepEqual(fp.accepts(params, odd), refused);
  assert.equal(fp.accepts({ ...params, float_format: "fp8_e4m3" }, odd).ok, true);
});
