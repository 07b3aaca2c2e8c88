import assert from "node:assert/strict";
import type { Artifact } from "../../../core/mod.ts";
import { artifactRows } from "../../../tracker/store/rows/artifact_rows.ts";
import { smallFacts } from "../../core/spec_facts.ts";
import { AT } from "../../fixtures/stores/records.ts";

const ARTIFACT: Artifact = {
  artifact_id: "a",
  action_key: "k",
  parent_id: null,
  action: null,
  location: "/a",
  files: [],
  size_bytes: 1010,
  formula_bytes: 1000,
  weight_bits: 4.5,
  activation_bits: null,
  verification: null,
  created_at: AT,
};

function row(artifact: Artifact): Record<string, unknown> {
  const record = {
    ...{ type: "artifact_written", at: AT, study_id: "s", trial_id: "s/t01" } as const,
    ...{ artifact, cached: false },
  };
  const changes = artifactRows(record as Parameters<typeof artifactRows>[0], 3);
  const added = changes.find((change) => change.op === "add" && change.table === "artifacts");
  assert(added?.op === "add");
  return added.row;
}

Deno.test("an artifact's row says what is left in floats, with its share, and whose loader takes it", () => {
  const floats = [
    { part: "embedding", tensors: 1, bytes: 661 },
    { part: "norm", tensors: 5, bytes: 1 },
  ];
  const { float_bytes, float_parts, loader } = row({ ...ARTIFACT, floats, loader: "pare" });
  assert.deepEqual(
    [float_bytes, float_parts, loader],
    [662, "embedding 66.1 %, norm 0.1 %", "pare"],
  );
});

Deno.test("an artifact's row says how many parameters its own model has", () => {
  const model = { ...smallFacts().model, parameters: 97 };
  assert.equal(row({ ...ARTIFACT, model })["parameters"], 97);
});

Deno.test("a baseline's row and an old record's leave it open", () => {
  const { float_bytes, float_parts, loader, parameters } = row(ARTIFACT);
  assert.deepEqual([float_bytes, float_parts, loader, parameters], [null, null, null, null]);
});
