import {
  type Change,
  defineMethod,
  flag,
  integer,
  real,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { adapterBytes, type AdapterForm } from "../forms/adapter.ts";

/** torch, transformers, peft and their buffers before a weight is read. */
const PROCESS_BYTES = 0.9e9;
const START_SECONDS = 12;
/** Forward and backward pass of one weight for one token, two cores. */
const SECONDS_A_WEIGHT_AND_TOKEN = 6e-11;
/** A GPU does the same work roughly so much faster; never measured here, only for planning. */
const GPU_SPEED = 20;
/** A trained factor with its gradient and two moments, in float32. */
const BYTES_A_TRAINED_WEIGHT = 16;
/** Values that a token leaves in each layer for the backward pass, in hidden sizes. */
const KEPT_A_LAYER = 24;
/** Above this size at 16 bits a first try would train for hours: only who asks for it gets it. */
const LARGE_MODEL_BYTES = 10e9;

function trainable({ model }: { model: Parameters<typeof weightBytes>[0] }): Support {
  const { expert_parameters = 0, linear_shapes, unpackable } = model;
  if (unpackable !== null && unpackable !== undefined) return { ok: false, reason: unpackable };
  if (expert_parameters > 0) {
    return {
      ok: false,
      reason: "peft's layers stand beside plain linear ones, not beside experts",
    };
  }
  if (linear_shapes.length > 0) return { ok: true };
  return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
}

/** LoRA by peft. */
export default defineMethod({
  name: "lora",
  summary:
    "Trains low-rank factors beside the linear layers, merged into them or kept as an adapter",
  knobs: {
    rank: integer({
      minimum: 1,
      maximum: 64,
      default: 8,
      log: true,
      unit: "columns of each low-rank factor",
      description: "How many directions a matrix may be changed in",
    }),
    alpha: integer({
      minimum: 1,
      maximum: 128,
      default: 16,
      log: true,
      unit: "scale of the product, times the rank",
      description: "The factors' product is multiplied by alpha / rank",
    }),
    lr: real({
      minimum: 0.00001,
      maximum: 0.005,
      default: 0.0002,
      log: true,
      unit: "step of AdamW at the start",
      description: "How far a step goes, falling linearly to 0",
    }),
    steps: integer({
      minimum: 20,
      maximum: 200,
      default: 20,
      log: true,
      unit: "steps, a window each",
      description: "Steps of the optimizer; beyond the last training window it begins anew",
    }),
    tokens: integer({
      minimum: 16,
      maximum: 2048,
      default: 256,
      log: true,
      unit: "tokens of a window",
      description: "Tokens used of each training window, at most as many as it has",
      takes: "tokens",
    }),
    merge: flag({
      default: true,
      description: "Add what was trained to the weights; off: keep it beside them as an adapter",
    }),
  },
  needs: { environment: "default", data: "training", gpu: false },
  leaves({ rank, merge }, { model }) {
    const trained = { part: "linear", effect: "trains", form: null } as const;
    if (merge) return { changes: [{ ...trained, least_cosine: 0.5 }], model };
    const form: AdapterForm = { form: "adapter", rank };
    const beside: Change = { part: "adapter", effect: "trains", form, least_cosine: null };
    const linear = weightBytes(model).linear + adapterBytes(form, model.linear_shapes);
    const after = {
      ...withWeightBytes(model, { linear }),
      unpackable: "an adapter lies beside its weights: with merge they can be changed further",
    };
    return { changes: [beside], model: after };
  },
  order: {
    effect: "trains",
    follows: ["trains", "prunes", "resizes"],
    precedes: ["trains", "prunes", "rounds", "encodes"],
    reason: "it trains float weights of the shapes that they have then",
  },
  label: ({ rank, steps, merge }) => [
    `r${rank}`,
    `${steps} steps`,
    ...(merge ? [] : ["adapter"]),
  ],
  hint: (about) => about === "quality" ? "Take a lower lr or text like that of the tasks" : null,
  supports: trainable,
  accepts: (_params, facts) => trainable(facts),
  seed(boldness, { model }) {
    return boldness === "conservative" && model.fp16_bytes <= LARGE_MODEL_BYTES ? {} : null;
  },
  next: (params, finding) => {
    if (finding === "kept") {
      return params.steps >= 200 ? null : { ...params, steps: Math.min(200, 2 * params.steps) };
    }
    const lr = Math.max(0.00001, params.lr / 3);
    return lr === params.lr ? null : { ...params, lr };
  },
  estimateSeconds({ steps, tokens }, { model, device }) {
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    const work = (model.linear_parameters + model.embedding_parameters) * steps * tokens;
    return START_SECONDS + work * SECONDS_A_WEIGHT_AND_TOKEN / speed;
  },
  // The model in float32, the factors, and what a window's backward pass needs.
  estimateMemory({ rank, tokens }, { model }) {
    const factors = adapterBytes({ form: "adapter", rank }, model.linear_shapes) / 2;
    const kept = tokens * (model.layers * model.hidden_size * KEPT_A_LAYER + 3 * model.vocabulary);
    return PROCESS_BYTES + 4 * model.parameters + BYTES_A_TRAINED_WEIGHT * factors + 4 * kept;
  },
});
