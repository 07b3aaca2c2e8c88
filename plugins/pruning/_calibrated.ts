/** What the pruning methods share that weigh a weight by the inputs it meets. */
import { choice, type Facts, integer, type Support } from "../../core/mod.ts";
import {
  acceptsPattern,
  PROCESS_BYTES,
  sparsityKnobs,
  sparsityLabel,
  type SparsityParams,
  stored_as,
  unstructuredPruner,
} from "./_unstructured.ts";

const FLOAT_BYTES = 4;
/** Activations of a block that live at once: its inputs, what each of its layers is given, its outputs. */
const HIDDEN_COPIES = 8;
const MLP_COPIES = 4;
/** A GPU does the work roughly so much faster; never measured here, only for planning. */
const GPU_SPEED = 10;
const START_SECONDS = 8;
/** Passes over the text beside the one that prunes: what outliers are read from, what is tried. */
const PASSES = { uniform: 0, outliers: 0.5, sensitivity: 1 } as const;

export const calibratedKnobs = {
  ...sparsityKnobs,
  layer_sparsity: choice(["uniform", "outliers", "sensitivity"], {
    default: "uniform",
    unit: "how the share is spread",
    description:
      "The same in every layer, or fewer zeros in blocks with many outliers (OWL), or in those whose " +
      "outputs err most where they alone are pruned",
    only_where: { knob: "pattern", is: ["unstructured"] },
  }),
  samples: integer({
    minimum: 1,
    maximum: 512,
    default: 16,
    log: true,
    unit: "calibration windows",
    description: "Calibration windows used, at most as many as the study has",
    takes: "windows",
  }),
  tokens: integer({
    minimum: 16,
    maximum: 4096,
    default: 256,
    log: true,
    unit: "tokens of a window",
    description: "How much of each window is read, at most as much as the study has",
    takes: "tokens",
  }),
  stored_as,
};

interface CalibratedParams extends SparsityParams {
  readonly layer_sparsity: "uniform" | "outliers" | "sensitivity";
  readonly samples: number;
  readonly tokens: number;
}

export const needsCalibration = {
  environment: "default",
  data: "calibration",
  gpu: false,
} as const;

/** All of a method that its name, seed and price a weight do not say. */
export const calibratedPruner = {
  ...unstructuredPruner,
  label: (params: CalibratedParams) => [
    sparsityLabel(params),
    ...(params.layer_sparsity === "uniform" ? [] : [params.layer_sparsity]),
    ...(params.stored_as === "dense" ? ["dense"] : []),
  ],
  accepts(params: CalibratedParams, { model }: Facts): Support {
    const { layer_sparsity } = params;
    const spread = layer_sparsity === "uniform" ? null : `spread by ${layer_sparsity}`;
    return acceptsPattern(params, model, spread);
  },
};

/** Seconds: a price for each weight, and one for each weight and token that meets it. */
export function calibratedSeconds(
  { samples, tokens, layer_sparsity }: CalibratedParams,
  { model, device }: Facts,
  prices: { readonly weight: number; readonly weight_and_token: number },
): number {
  const passes = 1 + PASSES[layer_sparsity];
  // What is tried is weighed and sorted as what stays is.
  const times = layer_sparsity === "sensitivity" ? 2 : 1;
  const a_weight = times * prices.weight + passes * samples * tokens * prices.weight_and_token;
  const speed = device.device === "cuda" ? GPU_SPEED : 1;
  return START_SECONDS + model.linear_parameters * a_weight / speed;
}

/** The model in float32, all windows at one block, and that block's second moments where they are taken. */
export function calibratedMemory(
  { samples, tokens }: CalibratedParams,
  { model }: Facts,
  moments: boolean,
): number {
  const { parameters, hidden_size, intermediate_size, linear_shapes } = model;
  const widest = Math.max(0, ...linear_shapes.map(({ in_features }) => in_features));
  const activations = samples * tokens *
    (HIDDEN_COPIES * hidden_size + MLP_COPIES * intermediate_size);
  // Of each width that a block has, and for the widest its inverse and two factors.
  const squares = moments ? 6 * widest ** 2 : 0;
  return PROCESS_BYTES + FLOAT_BYTES * (parameters + activations + squares) +
    2 * model.linear_parameters;
}
