import type { Part } from "../contract/change.ts";
import type { ModelFacts } from "../schemas/facts.ts";

/** Bytes of a model's parts as they are stored, by formula. */
export type WeightBytes = NonNullable<ModelFacts["weight_bytes"]>;

/** Bytes of each part as the actions so far have left it; untouched, 2 a parameter. */
export function weightBytes(model: ModelFacts): WeightBytes {
  if (model.weight_bytes !== undefined) return model.weight_bytes;
  const { parameters, embedding_parameters: embedding, linear_parameters: linear } = model;
  const rest = Math.max(0, parameters - embedding - linear);
  return { linear: 2 * linear, embedding: 2 * embedding, rest: 2 * rest };
}

/** The model with other bytes for some of its parts. */
export function withWeightBytes(model: ModelFacts, changed: Partial<WeightBytes>): ModelFacts {
  return { ...model, weight_bytes: { ...weightBytes(model), ...changed } };
}

/** Bytes of all weights. */
export function totalBytes(model: ModelFacts): number {
  const { linear, embedding, rest } = weightBytes(model);
  return linear + embedding + rest;
}

/**
 * Bits that are left for each weight of a part that `before` had, what belongs to it included: one
 * measure for fewer bits, fewer weights and zeros that are not stored. Null for a part without
 * weights of its own.
 */
export function bitsLeft(part: Part, before: ModelFacts, after: ModelFacts): number | null {
  if (part !== "linear" && part !== "embedding") return null;
  const weights = part === "linear" ? before.linear_parameters : before.embedding_parameters;
  return weights === 0 ? null : 8 * weightBytes(after)[part] / weights;
}
