import assert from "node:assert/strict";
import type { Artifact } from "../../core/mod.ts";
import { baselineSize, trialSize } from "../../core/loop/size.ts";
import { smallFacts } from "./spec_fixtures.ts";

const facts = smallFacts();
const { fp16_bytes } = facts.model;

function artifact(artifact_id: string, more: Partial<Artifact>): Artifact {
  const none = { formula_bytes: null, weight_bits: null, activation_bits: null };
  const at = { location: "/a", files: [], created_at: "2026-01-01T00:00:00.000Z" };
  const made = { action_key: "k", parent_id: null, action: null, verification: null };
  return { ...none, ...at, ...made, artifact_id, size_bytes: 0, ...more };
}

Deno.test("a setting of the baseline weighs what the baseline does, and its own file", () => {
  // The user's files hold 4 bytes a parameter: the baseline counts 2 of them.
  const baseline = artifact("model", { size_bytes: 2 * fp16_bytes });
  const setting = artifact("setting", { size_bytes: 2 * fp16_bytes + 150, weights_id: "model" });
  assert.equal(baselineSize(baseline, facts).value, fp16_bytes);
  const size = trialSize(setting, { baseline, facts });
  assert.equal(size.value, fp16_bytes + 150);
  assert.match(size.method ?? "", /150 bytes of the setting's own file/);
});

Deno.test("a setting of a trial's weights weighs these and its own file", () => {
  const baseline = artifact("model", { size_bytes: fp16_bytes });
  const setting = artifact("setting", { size_bytes: 1150, weights_id: "rounded" });
  assert.equal(trialSize(setting, { baseline, facts }).value, 1150);
});
