import assert from "node:assert/strict";
import {
  Artifact,
  type ArtifactChange,
  isNotFinite,
  type Verification,
  verificationGate,
  type VerifiedPart,
} from "../../core/mod.ts";
import { artifact } from "../fixtures/stores/records.ts";
import { run, world } from "./study_world.ts";

const LINEAR: ArtifactChange = {
  part: "linear",
  effect: "rounds",
  form: { form: "grid" },
  least_cosine: 0.6,
};
const RESIZED: ArtifactChange = { ...LINEAR, effect: "resizes", form: null, least_cosine: null };

function part(name: string, cosine: number | null, more: Partial<VerifiedPart> = {}): VerifiedPart {
  const layers = cosine === null ? 0 : 4;
  const worst_layer = cosine === null ? null : `${name}.1`;
  const others = { reshaped: 0, missing: 0, added: 0, differs: null };
  return { part: name, layers, minimum_cosine: cosine, worst_layer, ...others, ...more };
}

const SOUND = [part("linear", 0.9), part("embedding", 1), part("norm", 0.999999)];

function gate(
  parts: readonly VerifiedPart[],
  changes: ArtifactChange[] = [LINEAR],
  more: Partial<Verification> = {},
) {
  const made = artifact("made", "base");
  const facts = { parts: [...parts], not_finite: null, not_generated: null };
  const verification = { ...made.verification!, ...facts, ...more };
  return verificationGate(Artifact.parse({ ...made, changes, verification }));
}

Deno.test("a part that was changed is judged by its change, the others by what they were", () => {
  assert.equal(gate(SOUND).decision, "pass");
  assert.deepEqual([gate(SOUND).value, gate(SOUND).threshold], [0.9, 0.6]);
  assert.match(gate(SOUND).reason, /linear at least 0.9000 \(linear.1\), not below 0.6; embedding/);
  const poor = gate([part("linear", 0.5), part("embedding", 1)]);
  assert.deepEqual([poor.decision, poor.value, poor.threshold], ["abort", 0.5, 0.6]);
  assert.match(poor.reason, /0.5000 \(linear.1\), below 0.6/);
  for (const untouched of ["embedding", "norm", "bias", "other"]) {
    const drifted = gate([part("linear", 0.9), part(untouched, 0.99998)]);
    assert.deepEqual([drifted.decision, drifted.threshold], ["abort", 0.99999], untouched);
    assert.match(drifted.reason, new RegExp(`${untouched} tensors .* 0.999980`));
  }
  const embedding: ArtifactChange = { ...LINEAR, part: "embedding" };
  assert.equal(
    gate([part("linear", 0.9), part("embedding", 0.7)], [LINEAR, embedding]).decision,
    "pass",
  );
  assert.equal(gate([part("linear", 0.9), part("embedding", 0.7)], [embedding]).decision, "abort");
});

Deno.test("shapes change only where the action says so, and then no cosine counts", () => {
  const narrower = part("linear", 0.1, {
    reshaped: 6,
    differs: "up_proj is 96 by 64, its source 128 by 64",
  });
  assert.match(gate([narrower]).reason, /6 linear tensors .* up_proj is 96 by 64/);
  assert.equal(gate([narrower], [RESIZED]).decision, "pass");
  assert.equal(gate([narrower, part("embedding", 1)], [RESIZED]).threshold, 0.99999);
  const bias = part("bias", null, { reshaped: 2, differs: "q.bias is 32, its source 64" });
  assert.equal(gate([narrower, bias], [RESIZED]).decision, "pass");
  assert.equal(gate([part("linear", 0.9), bias]).decision, "abort");
  const shallower = [part("linear", 1, { missing: 7 }), part("norm", 1, { missing: 2 })];
  const block: ArtifactChange = { ...RESIZED, part: "block" };
  assert.equal(gate([...shallower, part("embedding", 1)], [block]).decision, "pass");
  assert.equal(gate(shallower, [RESIZED]).decision, "abort");
  assert.equal(gate([...shallower, part("embedding", 0.9)], [block]).decision, "abort");
});

Deno.test("an adapter brings tensors; a cache leaves every one as it was", () => {
  const brought = [part("linear", 1), part("other", null, { added: 8, differs: "a is new" })];
  const adapter: ArtifactChange = { ...RESIZED, part: "adapter", effect: "trains" };
  const cache: ArtifactChange = { ...RESIZED, part: "cache", effect: "caches" };
  assert.equal(gate(brought, [adapter]).decision, "pass");
  assert.equal(gate(brought, [cache]).decision, "abort");
  assert.equal(gate([part("linear", 1)], [cache]).decision, "pass");
  assert.equal(gate([part("linear", 0.9999)], [cache]).decision, "abort");
});

Deno.test("whatever an action does, its artifact is finite and generates", () => {
  const broken = gate(SOUND, [RESIZED], { not_finite: "layers.0.up_proj" });
  assert.equal(broken.decision, "abort");
  assert.match(broken.reason, /not finite: layers.0.up_proj/);
  const silent = gate([part("linear", 1)], [RESIZED], { not_generated: "up_proj is missing" });
  assert.match(silent.reason, /generates no text: up_proj is missing/);
  const made = artifact("made", "base");
  assert.equal(isNotFinite(made), false);
  const verification = { ...made.verification!, not_finite: "its logits are not finite" };
  assert.equal(isNotFinite({ ...made, verification }), true);
});

Deno.test("a record without parts or without changes is judged as it was then", () => {
  const old = artifact("old", "base");
  assert.deepEqual(verificationGate(old), {
    gate: "verification",
    decision: "pass",
    reason: "least cosine of 14 layers with their source is 0.9800 " +
      "(model.layers.1.mlp.down_proj), not below 0.1",
    value: 0.98,
    threshold: 0.1,
  });
  const found_again = verificationGate({ ...old, changes: [{ ...LINEAR, least_cosine: 0.99 }] });
  assert.deepEqual(found_again, verificationGate(old));
});

Deno.test("verificationGate() reads old records by their bits, and never passes what was not verified", async () => {
  const w = world({ max_trials: 1 });
  await run(w);
  const written = w.records.findLast((one) => one.type === "artifact_written")!.artifact;
  const gate = (bits: number, cosine: number) =>
    verificationGate({
      ...written,
      weight_bits: bits,
      verification: { ...written.verification!, minimum_cosine: cosine },
    }).decision;
  assert.equal(gate(8, 0.99), "pass");
  assert.equal(gate(8, 0.3), "abort");
  assert.equal(gate(2.5, 0.3), "pass");
  assert.equal(gate(2.5, 0.01), "abort");
  assert.equal(gate(8, NaN), "abort");
  assert.equal(verificationGate({ ...written, verification: null }).decision, "abort");
});
