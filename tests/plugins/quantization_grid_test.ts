import assert from "node:assert/strict";
import { checkStrategy, type Facts, resolveAction } from "../../core/mod.ts";
import autoround from "../../plugins/quantization/autoround.ts";
import rtn from "../../plugins/quantization/rtn.ts";
import gptq from "../../plugins/quantization/gptq.ts";
import int8 from "../../plugins/quantization/int8.ts";
import mixed from "../../plugins/quantization/mixed.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

type Grid = NonNullable<Facts["model"]["grid"]>;

function onGrid(more: Partial<Grid>): Facts {
  const facts = smallFacts();
  const grid = { bits: 4, group_size: 64, symmetric: true, fraction: 1, relative_error: 0 };
  return { ...facts, model: { ...facts.model, grid: { ...grid, ...more } } };
}

const params = { bits: 4, group_size: 64, symmetric: true, clip: false, targets: "linear" };

function reason(more: Partial<typeof params>, facts: Facts): string {
  const verdict = rtn.accepts({ ...params, ...more }, facts);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("the grid that weights lie on is refused, exactly or nearly, and why it says nothing", () => {
  assert.equal(
    reason({}, onGrid({})),
    "the model's weights already lie on a symmetric 4-bit grid in groups of 64; rounding to that " +
      "grid gives them back, whatever the method does: its figures would say nothing about it",
  );
  assert.equal(
    reason({ symmetric: false }, onGrid({ symmetric: false })),
    "the model's weights already lie on an asymmetric 4-bit grid in groups of 64; rounding to that " +
      "grid gives them back but for the zero points, which the file stores as whole steps: its " +
      "figures would be those of the file format, not of the method",
  );
  assert.match(reason({ group_size: 32 }, onGrid({})), /already lie/, "groups within a group");
});

Deno.test("other grids, and weights that mostly lie on none, are taken", () => {
  assert.equal(reason({ bits: 3 }, onGrid({})), "");
  assert.equal(reason({ symmetric: false }, onGrid({})), "");
  assert.equal(reason({ group_size: 96 }, onGrid({})), "");
  assert.equal(reason({}, onGrid({ fraction: 0.4 })), "");
  assert.equal(reason({ targets: "embedding" }, onGrid({})), "");
});

Deno.test("a method's next step passes over the grid that the weights lie on", () => {
  const facts = onGrid({ bits: 3 });
  const next = (bits: number, finding: "lost" | "kept") =>
    gptq.next({ ...params, bits }, finding, facts)?.["bits"] ?? null;
  assert.deepEqual([next(8, "kept"), next(4, "kept"), next(2, "kept")], [4, 2, null]);
  assert.deepEqual([next(2, "lost"), next(4, "lost"), next(8, "lost")], [4, 8, null]);
});

Deno.test("weights that cannot be packed are refused by name, the embedding is not", () => {
  const facts = smallFacts();
  const unpackable = "model.layers.0.experts.gate_up_proj cannot be packed: its file holds all";
  const mixture = { ...facts, model: { ...facts.model, unpackable } };
  for (const method of [gptq, int8]) {
    assert.deepEqual(method.supports(mixture), { ok: false, reason: unpackable });
    assert.equal(method.supports(facts).ok, true);
  }
  assert.equal(rtn.supports(mixture).ok, true);
  assert.equal(reason({}, mixture), unpackable);
  assert.equal(reason({ targets: "all" }, mixture), unpackable);
  assert.equal(reason({ targets: "embedding" }, mixture), "");
});

Deno.test("a layer that auto-round would leave in floats is refused before it tunes", () => {
  const facts = smallFacts();
  const linear_shapes = [
    ...facts.model.linear_shapes,
    { out_features: 48, in_features: 64, count: 2 },
  ];
  const odd = { ...facts, model: { ...facts.model, linear_shapes } };
  assert.equal(autoround.supports(facts).ok, true);
  const verdict = autoround.supports(odd);
  assert.match(verdict.ok ? "" : verdict.reason, /such as one of 48 by 64: take gptq/);
  const mix = (rounded_by: string, where: Facts) => {
    const action = { agent: "quantization", method: "mixed", params: { rounded_by } };
    const entries = [{ agent: "quantization", method: mixed }];
    const verdict = checkStrategy([resolveAction(action, entries, where)], entries, where);
    return verdict.ok ? "" : verdict.reason;
  };
  assert.match(mix("autoround", odd), /such as one of 48 by 64/);
  assert.deepEqual([mix("autoround", facts), mix("gptq", odd)], ["", ""]);
});
