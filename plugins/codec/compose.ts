import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  integer,
  type Leaves,
  real,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { encodesOnce, hasMatrices, NO_FASTER, PROCESS_BYTES } from "./_codec.ts";
import { rungsOf } from "./_ladders.ts";

/** A step of the budget, when there is to be more or less of it. */
const STEP_BITS = 0.5;
const LEAST_BITS = 2;
const MOST_BITS = 6.5;
/** For SmolLM2-135M on one core: 300 tokens a second forwards, a third of it with the way back. */
const SECONDS_A_WEIGHT_AND_TOKEN = 3e-11;
const FISHER_PASSES = 4;
const FLOAT_BYTES = 4;
/** The model, its squared gradients, and a matrix that is searched. */
const COPIES = 3;

interface ComposeParams {
  readonly average_bits: number;
  readonly layer_codecs: string;
  readonly scored_by: "kl" | "fisher" | "reconstruction";
  readonly samples: number;
  readonly seqlen: number;
}

/** Bits a weight if all layers had the smallest setting, each its own, and the largest. */
function reach(codecs: string, facts: Facts): { least: number; most: number } {
  const shapes = facts.model.linear_shapes;
  const weights = shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + out_features * in_features * count,
    0,
  );
  const ends = (pick: (...bytes: number[]) => number) =>
    8 * shapes.reduce(
      (sum, shape) => sum + pick(...rungsOf(codecs, facts).map(({ bytes }) => bytes([shape]))),
      0,
    ) / Math.max(1, weights);
  return { least: ends(Math.min), most: ends(Math.max) };
}

/** The composition fills its budget: a layer has one of the forms, and all together have the mean. */
function leaves({ average_bits, layer_codecs: codecs }: ComposeParams, facts: Facts): Leaves {
  const changes = rungsOf(codecs, facts).map(({ form, least_cosine }): Change => ({
    ...{ part: "linear", effect: "encodes", form, least_cosine },
    no_faster: NO_FASTER,
  }));
  const { least, most } = reach(codecs, facts);
  const mean = Math.min(Math.max(average_bits, least), most);
  const linear = mean * facts.model.linear_parameters / 8;
  return {
    changes,
    model: withWeightBytes(facts.model, { ...weightBytes(facts.model), linear }),
  };
}

function accepts({ average_bits, layer_codecs: codecs }: ComposeParams, facts: Facts): Support {
  const has = hasMatrices(facts);
  if (!has.ok) return has;
  const { least, most } = reach(codecs, facts);
  if (average_bits >= least && average_bits <= most) return { ok: true };
  return {
    ok: false,
    reason: `layers in ${codecs.replaceAll("-", ", ")} have ${least.toFixed(2)} to ` +
      `${most.toFixed(2)} bits per weight, not ${average_bits} on average`,
  };
}

/** A codec of its own for each layer, by the knapsack of `mixed`. */
export default defineMethod({
  name: "compose",
  summary: "Gives each layer the codec that costs it least, under a mean number of bits per weight",
  knobs: {
    average_bits: real({
      minimum: LEAST_BITS,
      maximum: MOST_BITS,
      default: 4,
      unit: "bits per weight",
      description: "Mean over the linear weights that the codes may take at most, all they need",
    }),
    layer_codecs: choice([
      "seedlm-vptq-hyper_compression",
      "seedlm-hyper_compression",
      "seedlm-vptq",
      "vptq-hyper_compression",
    ], {
      default: "seedlm-vptq-hyper_compression",
      unit: "codecs that a layer may have",
      description: "Each at several rates: every layer is encoded at all of them",
    }),
    scored_by: choice(["kl", "fisher", "reconstruction"], {
      default: "fisher",
      unit: "scorer of a layer",
      description: "What a layer's code is taken to cost: kl is measured by forward passes for " +
        "each layer and setting, fisher estimates it by one backward pass",
    }),
    samples: integer({
      minimum: 1,
      maximum: 512,
      default: 8,
      log: true,
      unit: "calibration windows",
      description: "Calibration windows used, at most as many as the study has",
      takes: "windows",
    }),
    seqlen: integer({
      minimum: 16,
      maximum: 4096,
      default: 256,
      log: true,
      unit: "tokens of a window",
      description: "Tokens used of each window, at most as many as it has",
      takes: "tokens",
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves,
  order: encodesOnce,
  label: ({ average_bits, layer_codecs: codecs }) => [
    `${average_bits}-bit`,
    ...(codecs === "seedlm-vptq-hyper_compression" ? [] : [`of ${codecs.replaceAll("-", ", ")}`]),
  ],
  hint: (about) => about === "quality" ? "Allow more bits on average" : "Allow fewer bits",
  supports: hasMatrices,
  accepts,
  seed: (boldness) => boldness === "balanced" ? { average_bits: 4 } : null,
  next(params, finding, facts) {
    const step = finding === "lost" ? STEP_BITS : -STEP_BITS;
    const average_bits = params.average_bits + step;
    const further = { ...params, average_bits };
    const within = average_bits >= LEAST_BITS && average_bits <= MOST_BITS;
    return within && accepts(further, facts).ok ? further : null;
  },
  estimateSeconds({ layer_codecs: codecs, scored_by, samples, seqlen }, facts) {
    const rungs = rungsOf(codecs, facts);
    const { linear_shapes, linear_parameters } = facts.model;
    // A pass for each layer and setting; a restart at the layer's block halves it.
    const layers = linear_shapes.reduce((sum, shape) => sum + shape.count, 0);
    const passes = scored_by === "kl" ? layers * rungs.length / 2 : FISHER_PASSES;
    return rungs.reduce((sum, { seconds }) => sum + seconds(facts), 0) +
      passes * samples * seqlen * linear_parameters * SECONDS_A_WEIGHT_AND_TOKEN;
  },
  // The codes lie on disk; what every block gives, and the logits of every window, do not.
  estimateMemory({ samples, seqlen }, { model }) {
    const { parameters, hidden_size, intermediate_size, embedding_parameters } = model;
    const widths = 8 * hidden_size + intermediate_size + embedding_parameters / hidden_size;
    const blocks = Math.ceil(Math.max(0, ...model.linear_shapes.map(({ count }) => count)));
    const activations = samples * seqlen * (widths + blocks * hidden_size);
    return PROCESS_BYTES + FLOAT_BYTES * (COPIES * parameters + activations);
  },
});
