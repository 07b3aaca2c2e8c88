import assert from "node:assert/strict";
import { checkHeld, checkStrategy, type Facts, resolveAction, totalBytes } from "../../core/mod.ts";
import mixed from "../../plugins/quantization/mixed.ts";
import llamaCpp from "../../plugins/runtimes/llama.cpp.ts";
import { smallFacts } from "../core/spec_fixtures.ts";

const facts = smallFacts();
const entry = { agent: "quantization", method: mixed };

function action(params: Record<string, number | string | boolean>) {
  return resolveAction({ agent: "quantization", method: "mixed", params }, [entry], facts);
}

function reason(params: Record<string, number | string | boolean>, where: Facts = facts): string {
  const verdict = checkStrategy([action(params)], [entry], where);
  return verdict.ok ? "" : verdict.reason;
}

Deno.test("a mix is refused a mean that its layers' formats cannot have", () => {
  assert.equal(reason({ average_bits: 4 }), "", "several formats of one part are one change of it");
  const ends = "layers of 3-4 bits have 3.25 to 4.25 bits per weight, scales included, not";
  assert.equal(reason({ average_bits: 3, layer_bits: "3-4" }), `${ends} 3 on average`);
  assert.equal(reason({ average_bits: 6, layer_bits: "3-4" }), `${ends} 6 on average`);
  assert.equal(reason({ average_bits: 4.25, layer_bits: "3-4" }), "");
  assert.match(reason({ group_size: 256 }), /group size of 256 does not divide/);
});

Deno.test("a mix declares each grid that a layer may have, and the bytes of its mean", () => {
  const bytes = (average_bits: number) => {
    const { params } = action({ average_bits });
    return totalBytes(mixed.leaves(params as never, facts).model);
  };
  const bit = facts.model.linear_parameters / 8;
  assert.ok(Math.abs(bytes(5) - bytes(4) - bit) < 1, `${bytes(5) - bytes(4)} is not ${bit}`);
  const { params } = action({ layer_bits: "2-3-4-8", symmetric: false });
  const { changes } = mixed.leaves(params as never, facts);
  assert.deepEqual(
    changes.map(({ part, form }) => [part, form]),
    [2, 3, 4, 8].map((bits) => [
      "linear",
      { form: "grid", bits, group_size: 64, symmetric: false, activation_group_size: null },
    ]),
  );
});

Deno.test("a runtime must hold every format that the mix may take", () => {
  const held = (params: Record<string, number | string | boolean>) => {
    const verdict = checkHeld(llamaCpp, entry, action(params).params, facts);
    return verdict.ok ? "" : verdict.reason;
  };
  assert.equal(held({}), "");
  assert.match(held({ symmetric: false }), /no block of 8-bit integers with a zero point/);
  assert.equal(held({ symmetric: false, layer_bits: "3-4" }), "");
});

Deno.test("after a loss a mix is allowed half a bit more, after none half a bit less, within reach", () => {
  const next = (average_bits: number, finding: "lost" | "kept") => {
    const { params } = action({ average_bits, layer_bits: "3-4" });
    return mixed.next(params as never, finding, facts)?.average_bits ?? null;
  };
  assert.deepEqual([next(3.5, "lost"), next(4, "kept")], [4, 3.5]);
  assert.deepEqual([next(4, "lost"), next(3.5, "kept")], [null, null]);
});

Deno.test("an assigned mix has the formats that it names, and refuses what is none", () => {
  const given = { assignment: "3-bit-g32-asym=0-3 4-bit=4-8", average_bits: 3.8 };
  assert.equal(reason(given), "");
  const { params } = action(given);
  const { changes } = mixed.leaves(params as never, facts);
  const forms = changes.map(({ form }) => form as unknown as Record<string, unknown>);
  assert.deepEqual(
    forms.map(({ bits, group_size, symmetric }) => [bits, group_size, symmetric]),
    [[3, 32, false], [4, -1, true]],
  );
  assert.deepEqual(mixed.label?.(params as never), ["3.8-bit", "as assigned"]);
  assert.match(reason({ ...given, assignment: "5-bit=0-8" }), /names a format that is none of/);
  assert.match(reason({ ...given, average_bits: 8 }), /layers of these formats have .* not 8/);
  assert.throws(() => action({ assignment: "4-bit" }), /a text that matches/);
});
