import type { Artifact, JournalRecord } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";

/** Bytes that no action has touched; null where it was not written down. */
function floatBytes({ floats }: Artifact): number | null {
  return floats?.reduce((total, { bytes }) => total + bytes, 0) ?? null;
}

/** Such as `embedding 66.1 %, norm 0.1 %`: shares of the bytes that the formula predicts. */
function floatParts({ floats, formula_bytes }: Artifact): string | null {
  if (floats === undefined || formula_bytes === null || formula_bytes === 0) return null;
  return floats
    .map(({ part, bytes }) => `${part} ${(100 * bytes / formula_bytes).toFixed(1)} %`)
    .join(", ");
}

function artifactRow(artifact: Artifact): Row {
  const { verification: check } = artifact;
  return {
    artifact_id: artifact.artifact_id,
    action_key: artifact.action_key,
    parent_id: artifact.parent_id,
    agent: artifact.action?.agent ?? null,
    method: artifact.action?.method ?? null,
    files: artifact.files.length,
    size_bytes: artifact.size_bytes,
    formula_bytes: artifact.formula_bytes,
    weight_bits: artifact.weight_bits,
    activation_bits: artifact.activation_bits,
    float_bytes: floatBytes(artifact),
    float_parts: floatParts(artifact),
    loader: artifact.loader ?? null,
    parameters: artifact.model?.parameters ?? null,
    verified_layers: check?.layers ?? null,
    minimum_cosine: check?.minimum_cosine ?? null,
    mean_cosine: check?.mean_cosine ?? null,
    worst_layer: check?.worst_layer ?? null,
    generated_text: check?.generated_text ?? null,
    verify_seconds: check?.seconds ?? null,
    created_at: moment(artifact.created_at),
  };
}

/** An artifact stands once, however many trials use it. */
export function artifactRows(
  record: Extract<JournalRecord, { type: "artifact_written" }>,
  position: number,
): Change[] {
  const { study_id, trial_id, artifact, cached } = record;
  const { artifact_id } = artifact;
  return [
    { op: "forget", tables: ["artifacts", "artifact_files"], where: { artifact_id } },
    ...adds("artifacts", [artifactRow(artifact)]),
    ...adds("artifact_files", artifact.files.map((file) => ({ artifact_id, ...file }))),
    ...adds("trial_artifacts", [{ study_id, trial_id, artifact_id, position, cached }]),
  ];
}
