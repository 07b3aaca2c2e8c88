import assert from "node:assert/strict";
import { applyAnswers, inferSpec, missingKeyConstraints, Spec } from "../../core/mod.ts";
import { largeFacts, plugins, request, smallFacts, withDataset } from "./spec_fixtures.ts";

const small = smallFacts();
const large = largeFacts();
const mute = { ...large, device: { ...large.device, vram_gb: null, free_vram_gb: null } };
const fields = (spec: Spec) => missingKeyConstraints(spec).map((one) => one.field);

Deno.test("missingKeyConstraints() asks for the accuracy threshold that nobody gave", () => {
  const [question] = missingKeyConstraints(inferSpec(request(), small, plugins));
  assert.equal(question?.field, "constraints.max_accuracy_drop");
  assert.equal(question?.fallback, 0.02);
  assert.match(question?.question ?? "", /\?$/);
  const given = request({ constraints: { max_accuracy_drop: 0.01 } });
  assert.deepEqual(fields(inferSpec(given, small, plugins)), []);
});

Deno.test("missingKeyConstraints() asks for GPU memory only where a GPU does not tell it", () => {
  assert.deepEqual(fields(inferSpec(request(), large, plugins)), ["constraints.max_accuracy_drop"]);
  const spec = inferSpec(request(), mute, plugins);
  assert.deepEqual(fields(spec), ["constraints.max_accuracy_drop", "constraints.max_vram_gb"]);
  assert.ok(missingKeyConstraints(spec)[1]!.fallback >= spec.required_memory_gb);
});

Deno.test("missingKeyConstraints() asks no accuracy of a dataset that has none", () => {
  assert.deepEqual(fields(inferSpec(request(), withDataset(small, "wikitext"), plugins)), []);
});

Deno.test("applyAnswers() puts answers in force, says they were asked, and leaves nothing to ask", () => {
  const spec = inferSpec(request(), mute, plugins);
  const answered = applyAnswers(spec, {
    "constraints.max_accuracy_drop": 0.05,
    "constraints.max_vram_gb": 40,
  });
  assert.deepEqual(Spec.parse(answered), answered);
  assert.equal(answered.constraints.max_accuracy_drop, 0.05);
  assert.equal(answered.constraints.max_vram_gb, 40);
  assert.equal(answered.default_constraints.max_accuracy_drop, 0.02);
  const asked = answered.assumptions.filter((one) => one.source === "asked");
  assert.deepEqual(asked.map((one) => one.value), [0.05, 40]);
  assert.deepEqual(missingKeyConstraints(answered), []);
  assert.equal(spec.constraints.max_vram_gb, null);
});

Deno.test("applyAnswers() without answers changes nothing: what was assumed stays assumed", () => {
  const spec = inferSpec(request(), small, plugins);
  assert.deepEqual(applyAnswers(spec, {}), spec);
});

Deno.test("applyAnswers() refuses an answer that cannot be meant", () => {
  const spec = inferSpec(request(), small, plugins);
  assert.throws(
    () => applyAnswers(spec, { "constraints.max_accuracy_drop": 2 }),
    /Cannot take 2 as the accuracy drop as it must be from 0 to 1/,
  );
  assert.throws(() => applyAnswers(spec, { "constraints.max_accuracy_drop": NaN }), /NaN/);
  assert.throws(() => applyAnswers(spec, { "constraints.max_vram_gb": 0 }), /must be above 0/);
});
