/** What a method costs that weighs parts of a model on windows of text. */
import { type DeviceFacts, integer, type ModelFacts } from "../../core/mod.ts";

/** Tokens of a window, where a study does not say otherwise. */
const TOKENS = 256;
/** Forward pass of one weight for one token, two cores; the backward pass takes twice as long. */
const SECONDS_A_WEIGHT_AND_TOKEN = 2e-11;
/** A GPU does the same work roughly so much faster; never measured here, only for planning. */
const GPU_SPEED = 20;
/** torch, transformers and their buffers before a weight is read. */
const PROCESS_BYTES = 0.9e9;
/** Values that a token leaves in each layer for the backward pass, in hidden sizes. */
const KEPT_A_LAYER = 24;

/** How many of the study's windows a method weighs by. */
export const calibrationWindows = integer({
  minimum: 8,
  maximum: 64,
  default: 16,
  log: true,
  unit: "calibration windows",
  description: "Calibration windows used, at most as many as the study has; weight reads none",
  takes: "windows",
});

/** Seconds that a window takes. */
export function passSeconds(
  { linear_parameters, embedding_parameters }: ModelFacts,
  { device }: DeviceFacts,
  backward: boolean,
): number {
  const work = (linear_parameters + embedding_parameters) * TOKENS * (backward ? 3 : 1);
  return work * SECONDS_A_WEIGHT_AND_TOKEN / (device === "cuda" ? GPU_SPEED : 1);
}

/** Bytes for a float32 model, so many copies of its linear layers, and a window's values. */
export function trainingMemory(model: ModelFacts, copies: number): number {
  const { parameters, linear_parameters, layers, hidden_size, vocabulary } = model;
  const values = TOKENS * ((copies > 0 ? layers : 1) * hidden_size * KEPT_A_LAYER + 3 * vocabulary);
  return PROCESS_BYTES + 4 * parameters + 4 * copies * linear_parameters + 4 * values;
}
