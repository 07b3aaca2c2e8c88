import { createHash } from "node:crypto";
import type { Artifact, Endpoint, ModelFacts } from "../../../core/mod.ts";

/** A server says nothing of its model: names are given, counts and bytes are 0. */
export function servedFacts(model_name: string, { base_url }: Endpoint): ModelFacts {
  return {
    model_name,
    source: "endpoint",
    path: base_url,
    revision: null,
    architecture: "not known",
    model_type: "not known",
    dtype: "not known",
    parameters: 0,
    embedding_parameters: 0,
    linear_parameters: 0,
    original_bytes: 0,
    fp16_bytes: 0,
    tied_embeddings: false,
    layers: 0,
    hidden_size: 0,
    intermediate_size: 0,
    heads: 0,
    kv_heads: 0,
    vocabulary: 0,
    context_length: 0,
    linear_shapes: [],
    group_sizes: [],
    grid: null,
    chat_template: false,
    custom_code: false,
  };
}

/** Stands for the model in the loop; never recorded. Its id keys the answers that are kept. */
export function servedArtifact({ base_url, model }: Endpoint, created_at: string): Artifact {
  const key = createHash("sha256").update(JSON.stringify([base_url, model])).digest("hex");
  return {
    artifact_id: key.slice(0, 16),
    action_key: key,
    parent_id: null,
    action: null,
    location: "",
    files: [],
    size_bytes: 0,
    formula_bytes: null,
    weight_bits: null,
    activation_bits: null,
    verification: null,
    created_at,
  };
}
