import {
  choice,
  type Facts,
  type Finding,
  flag,
  integer,
  type LinearShape,
  real,
  type Support,
  weightBytes,
} from "../../core/mod.ts";
import { adapterBytes } from "../forms/adapter.ts";

/** torch, transformers, peft and their buffers before a weight is read. */
export const PROCESS_BYTES = 0.9e9;
const START_SECONDS = 12;
/** Forward and backward pass of one weight for one token, two cores. */
const SECONDS_A_WEIGHT_AND_TOKEN = 6e-11;
/** A GPU does the same work roughly so much faster; never measured here, only for planning. */
const GPU_SPEED = 20;
/** Values that a token leaves in each layer for the backward pass, in hidden sizes. */
const KEPT_A_LAYER = 24;
/** A trained weight's gradient and two moments beside it, in float32, and the best ones so far. */
const BYTES_A_TRAINED_WEIGHT = 20;
/** Looks at the held-out loss, each the forward pass of its windows: a third of a step. */
const STEPS_A_LOOK = 10;
const LOOK_SHARE = 1 / 3;
/** Above this size at 16 bits a first try would train for hours: only who asks for it gets it. */
const LARGE_MODEL_BYTES = 10e9;
/** What `next` goes up to: more is for whoever asks. */
const MOST_STEPS_TRIED = 400;

/** Knobs of every method of this family; the same as in its Python files. */
export const TRAINING_KNOBS = {
  steps: integer({
    minimum: 20,
    maximum: 2000,
    default: 20,
    log: true,
    unit: "steps, a batch each",
    description: "Steps of the optimizer; beyond the last training window it begins anew",
    aliases: ["max_steps"],
    only_where: { knob: "epochs", is: [0] },
  }),
  epochs: integer({
    minimum: 0,
    maximum: 10,
    default: 0,
    unit: "times that every window is read",
    description: "How often the training text is read; 0: as many steps as steps says",
    aliases: ["num_train_epochs"],
  }),
  batch: integer({
    minimum: 1,
    maximum: 16,
    default: 1,
    log: true,
    unit: "windows a step",
    description: "Windows whose mean gradient a step follows",
    aliases: ["batch_size"],
  }),
  schedule: choice(["linear", "cosine", "constant"], {
    default: "linear",
    unit: "name",
    description: "How the learning rate falls to 0, or that it stays",
    aliases: ["lr_scheduler_type"],
  }),
  warmup: real({
    minimum: 0,
    maximum: 0.5,
    default: 0,
    unit: "share of the steps",
    description: "Steps at the start in which the learning rate rises",
    aliases: ["warmup_ratio"],
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
  held_out: integer({
    minimum: 0,
    maximum: 64,
    default: 4,
    unit: "windows",
    description: "Training windows, at most a quarter, left out to see when to stop; 0: none",
  }),
};

/** Knobs of low-rank factors; the same as in lora.py and qlora.py. */
export const FACTOR_KNOBS = {
  rank: integer({
    minimum: 1,
    maximum: 64,
    default: 8,
    log: true,
    unit: "columns of each low-rank factor",
    description: "How many directions a matrix may be changed in",
    aliases: ["lora_rank", "r"],
  }),
  alpha: integer({
    minimum: 1,
    maximum: 128,
    default: 16,
    log: true,
    unit: "scale of the product, times the rank",
    description: "The factors' product is multiplied by alpha / rank",
    aliases: ["lora_alpha"],
  }),
  lr: real({
    minimum: 0.00001,
    maximum: 0.005,
    default: 0.0002,
    log: true,
    unit: "step of AdamW at its highest",
    description: "How far a step goes",
    aliases: ["learning_rate"],
  }),
  ...TRAINING_KNOBS,
  dropout: real({
    minimum: 0,
    maximum: 0.2,
    default: 0,
    unit: "share of the inputs",
    description: "Inputs of the factors left out at random while they are trained",
    aliases: ["lora_dropout"],
  }),
};

/** The same as in lora.py and qlora.py. */
export const MERGE_KNOB = {
  merge: flag({
    default: true,
    description: "Add what was trained to the weights; off: keep it beside them as an adapter",
  }),
};

/** Values of the knobs that say how long a training takes. */
export interface Length {
  readonly steps: number;
  readonly epochs: number;
  readonly batch: number;
  readonly tokens: number;
  readonly held_out: number;
}

/** Windows of a study's training text where no strategy asks for others. */
const USUAL_WINDOWS = 256;

function stepsOf({ steps, epochs, batch }: Length): number {
  return epochs > 0 ? Math.max(1, Math.ceil(epochs * USUAL_WINDOWS / batch)) : steps;
}

/** Seconds of the steps and of the looks at the held-out windows. */
export function trainingSeconds(length: Length, { model, device }: Facts): number {
  const speed = device.device === "cuda" ? GPU_SPEED : 1;
  const steps = stepsOf(length);
  const looks = (steps / STEPS_A_LOOK + 1) * length.held_out * LOOK_SHARE;
  const windows = steps * length.batch + looks;
  const work = (model.linear_parameters + model.embedding_parameters) * windows * length.tokens;
  return START_SECONDS + work * SECONDS_A_WEIGHT_AND_TOKEN / speed;
}

/** Bytes of trained weights with all that belongs to them, and of what a batch leaves. */
export function trainingBytes(
  trained: number,
  { batch, tokens, held_out }: Length,
  { model }: Facts,
): number {
  const kept = model.layers * model.hidden_size * KEPT_A_LAYER + 3 * model.vocabulary;
  const windows = Math.max(batch, held_out === 0 ? 0 : 1);
  return BYTES_A_TRAINED_WEIGHT * trained + 4 * windows * tokens * kept;
}

/** Weights of the factors beside all linear layers. */
export function factorWeights(rank: number, { model }: Facts): number {
  return adapterBytes({ form: "adapter", rank }, model.linear_shapes) / 2;
}

/** Whether a model is a mixture of experts, of which attention alone has plain linear layers. */
export function isMixture({ model: { expert_parameters = 0 } }: Facts): boolean {
  return expert_parameters > 0;
}

/** Whether a model's linear layers can be trained at all. attention: those of attention alone */
export function trainable(facts: Facts, attention = false): Support {
  const { model, model: { linear_shapes, unpackable } } = facts;
  if (unpackable !== null && unpackable !== undefined) return { ok: false, reason: unpackable };
  if (isMixture(facts) && !attention) {
    return { ok: false, reason: "training takes plain linear layers, not those of experts" };
  }
  if (linear_shapes.length > 0) return { ok: true };
  return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
}

/** Whose mixers peft puts no factors beside: fused kernels read `out_proj` without calling it. */
const WITHOUT_FACTORS = ["mamba", "mamba2", "falcon_mamba"];

/** Whether factors can stand beside the linear layers. */
export function takesFactors(facts: Facts, attention = false): Support {
  const { model_type } = facts.model;
  if (!WITHOUT_FACTORS.includes(model_type)) return trainable(facts, attention);
  const reason = `peft puts no factors beside the out_proj of ${model_type}: take full`;
  return { ok: false, reason };
}

function narrowest(shapes: readonly LinearShape[]): number {
  return Math.min(
    ...shapes.map(({ out_features, in_features }) => Math.min(out_features, in_features)),
  );
}

/** Whether factors of this rank say anything: beyond the width of a matrix they repeat themselves. */
export function rankFits(rank: number, facts: Facts, attention = false): Support {
  const support = takesFactors(facts, attention);
  if (!support.ok) return support;
  const width = narrowest(facts.model.linear_shapes);
  if (rank <= width) return { ok: true };
  return { ok: false, reason: `a rank of ${rank} is above ${width}, the narrowest layer's width` };
}

/** Whether a first try would be done in minutes. */
export function isSmall({ model }: Facts): boolean {
  return model.fp16_bytes <= LARGE_MODEL_BYTES;
}

/** Twice the steps where quality was kept; a third of the learning rate where it was lost. */
export function nextTraining<P extends Length & { readonly lr: number }>(
  params: P,
  finding: Finding,
  lowest: number,
): P | null {
  if (finding === "kept") {
    if (params.epochs > 0 || params.steps >= MOST_STEPS_TRIED) return null;
    return { ...params, steps: Math.min(MOST_STEPS_TRIED, 2 * params.steps) };
  }
  const lr = Math.max(lowest, params.lr / 3);
  return lr === params.lr ? null : { ...params, lr };
}

/** Words that tell the length of a training from others. */
export function lengthLabel({ steps, epochs, batch }: Length): string[] {
  const long = epochs > 0 ? `${epochs} epochs` : `${steps} steps`;
  return [long, ...(batch > 1 ? [`batch ${batch}`] : [])];
}

/** The bytes of the linear weights with factors kept beside them. */
export function linearWithFactors(rank: number, { model }: Facts): number {
  return weightBytes(model).linear + adapterBytes({ form: "adapter", rank }, model.linear_shapes);
}
