/** What every codec shares. */
import {
  type Change,
  type Facts,
  type HintAbout,
  type Leaves,
  type LinearShape,
  type Order,
  type StoredForm,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";

/**
 * Cosine of weights with their code's: 0.99 at 4 bits per weight of Gaussian ones, 0.8 near 1 bit; a
 * layer with other weights has about 0.
 */
export const LEAST_COSINE = 0.3;
/** torch and its buffers before a weight is read. */
export const PROCESS_BYTES = 0.8e9;

/** No runtime here computes with a code: each holds the floats that it stands for. */
export const NO_FASTER =
  "the code is decoded when the model is loaded, so that in memory it takes the " +
  "bytes of floats and runs no faster than they do";

/** What the requirement's document lets a retry change and no codec has. */
export const NOT_A_CODECS = {
  preserve_phase5_alignment: "a codec sees weights alone: the stage's gates judge what is left",
  preserve_eudaimonia_weights: "a codec sees weights alone: the stage's gates judge what is left",
} as const;

/**
 * A code stands in the place of whatever the weights were stored as: ratios do not multiply. None has
 * zeros, of 50 % before it 0 to 0.5 % are left: what pruning cost would have bought nothing.
 */
export const encodesOnce: Order = {
  effect: "encodes",
  follows: ["trains", "resizes"],
  precedes: [],
  reason:
    "it replaces how float weights are stored, once, by a code that holds no zeros: rounding or " +
    "pruning before it would be lost (rounding after pruning keeps the zeros)",
};

/** Whether the model has matrices that a code can stand for. */
export function hasMatrices({ model }: Facts): Support {
  if (model.unpackable !== null && model.unpackable !== undefined) {
    return { ok: false, reason: model.unpackable };
  }
  if (model.linear_shapes.length > 0) return { ok: true };
  return { ok: false, reason: `${model.architecture} has no linear layers that pare can find` };
}

/** Whether blocks of so many weights divide every row that they would cut. */
export function cutsRows(block: number, { model }: Facts): Support {
  const odd = model.linear_shapes.find(({ in_features }) => in_features % block !== 0);
  if (odd === undefined) return { ok: true };
  return {
    ok: false,
    reason: `blocks of ${block} do not divide the rows of ${odd.in_features} weights`,
  };
}

/** The parts of a model that can be encoded. */
export type CodedPart = "linear" | "embedding";

/** The matrices of a part. */
export function shapesOf(part: CodedPart, { model }: Facts): readonly LinearShape[] {
  if (part === "linear") return model.linear_shapes;
  const in_features = model.hidden_size;
  return [{ out_features: model.embedding_parameters / in_features, in_features, count: 1 }];
}

/**
 * What a codec of these parts leaves. bytesOf: of matrices in the form, by its formula;
 * least_cosine: of a layer's weights with their code's
 */
export function leavesEncoded<F extends StoredForm>(
  parts: readonly CodedPart[],
  form: F,
  bytesOf: (form: F, shapes: readonly LinearShape[]) => number,
  facts: Facts,
  least_cosine = LEAST_COSINE,
): Leaves {
  const changes = parts.map((part): Change => ({
    ...{ part, effect: "encodes", form, least_cosine },
    no_faster: NO_FASTER,
  }));
  const bytes = { ...weightBytes(facts.model) };
  for (const part of parts) bytes[part] = bytesOf(form, shapesOf(part, facts));
  return { changes, model: withWeightBytes(facts.model, bytes) };
}

/** What to do where a code was too coarse, or not coarse enough. */
export function codecHint(about: HintAbout): string {
  return about === "quality" ? "Take more bits per weight" : "Take fewer bits per weight";
}
