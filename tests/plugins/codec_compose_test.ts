import assert from "node:assert/strict";
import { checkHeld, checkStrategy, type Facts, resolveAction, totalBytes } from "../../core/mod.ts";
import compose from "../../plugins/codec/compose.ts";
import openvino from "../../plugins/runtimes/openvino.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const facts = smallFacts();
const entry = { agent: "codec", method: compose };

function action(params: Record<string, number | string | boolean>) {
  return resolveAction({ agent: "codec", method: "compose", params }, [entry], facts);
}

function reason(params: Record<string, number | string | boolean>, where: Facts = facts): string {
  const verdict = checkStrategy([action(params)], [entry], where);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("a composition is refused a mean that its codecs cannot have", () => {
  assert.equal(reason({}), "", "several forms of one part are one change of it");
  const layer_codecs = "vptq-hyper_compression";
  assert.match(
    reason({ average_bits: 2, layer_codecs }),
    /^layers in vptq, hyper_compression have 2\.\d\d to 6\.\d\d bits per weight, not 2 on average$/,
  );
  assert.equal(reason({ average_bits: 6.5, layer_codecs }), "");
});

Deno.test("it declares every form that a layer may have, and the bytes of its mean", () => {
  const leaves = (params: Record<string, number | string>) =>
    compose.leaves(action(params).params as never, facts);
  const bit = facts.model.linear_parameters / 8;
  const bytes = (average_bits: number) => totalBytes(leaves({ average_bits }).model);
  assert.ok(Math.abs(bytes(5) - bytes(4) - bit) < 1, `${bytes(5) - bytes(4)} is not ${bit}`);
  const forms = (params: Record<string, number | string>) =>
    leaves(params).changes.map(({ form }) => form!.form);
  assert.deepEqual(new Set(forms({})), new Set(["seeds", "vectors", "lattice"]));
  assert.deepEqual(
    new Set(forms({ layer_codecs: "seedlm-hyper_compression" })),
    new Set(["seeds", "lattice"]),
  );
});

Deno.test("a runtime that decodes each form runs all of them", () => {
  const verdict = checkHeld(openvino, entry, action({}).params, facts);
  assert.ok(verdict.ok, verdict.ok ? "" : verdict.reason);
});

Deno.test("after a loss half a bit more is allowed, after none half a bit less, within reach", () => {
  const next = (average_bits: number, finding: "lost" | "kept") => {
    const { params } = action({ average_bits });
    return compose.next(params as never, finding, facts)?.average_bits ?? null;
  };
  assert.equal(next(4, "lost"), 4.5);
  assert.equal(next(4, "kept"), 3.5);
  assert.equal(next(6.5, "lost"), null);
  assert.equal(next(2.1, "kept"), null);
});
