import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  type Finding,
  integer,
  type ModelFacts,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { GRANULARITY } from "./_granularity.ts";
import { calibrationWindows, passSeconds, trainingMemory } from "./_weighing.ts";

/** Blocks that a study may ask for at most. */
const MOST = 32;
/** Of so many blocks one goes at the first try. */
const MODEST = 16;
const START_SECONDS = 10;

/** Whole blocks go, and the linear layers in them: what is stored of either must be floats. */
const CHANGES: Change[] = [
  { part: "block", effect: "resizes", form: null, least_cosine: null },
  { part: "linear", effect: "resizes", form: null, least_cosine: null },
];

interface Params {
  readonly blocks: number;
  readonly importance: "block_influence" | "perplexity";
  readonly samples: number;
  readonly rounds: number;
  readonly keep_first: number;
  readonly keep_last: number;
}

function supports({ model }: Facts): Support {
  const { architecture, block_parameters, layers, linear_shapes } = model;
  const no = (reason: string): Support => ({ ok: false, reason });
  if (block_parameters === undefined) {
    return no("an earlier version read the model's facts, without what its blocks hold");
  }
  if (block_parameters === null || linear_shapes.some(({ count }) => count % layers !== 0)) {
    return no(`${architecture} is not built of one row of decoder blocks with the same layers`);
  }
  if (layers < 2) return no(`${architecture} has ${layers} block, and one must be left`);
  return { ok: true };
}

/** Blocks that may go. */
function most({ keep_first, keep_last }: Params, { layers }: ModelFacts): number {
  return Math.max(0, Math.min(layers - keep_first - keep_last, layers - 1));
}

function accepts(params: Params, { model }: Facts): Support {
  const { blocks, rounds, keep_first, keep_last } = params;
  if (blocks > most(params, model)) {
    const alone = keep_first + keep_last === 0
      ? ""
      : `, ${keep_first} first and ${keep_last} last ones left alone`;
    const reason = `${blocks} of ${model.layers} blocks cannot go${alone}: at most ` +
      `${most(params, model)} can`;
    return { ok: false, reason };
  }
  if (rounds <= blocks) return { ok: true };
  return { ok: false, reason: `${blocks} blocks cannot go in ${rounds} rounds: each cuts one` };
}

function leaves({ blocks }: Params, { model }: Facts) {
  const layers = Math.max(1, model.layers - blocks);
  const share = layers / model.layers;
  const part = (of: number) => Math.round(share * of);
  const block_parameters = part(model.block_parameters ?? model.linear_parameters);
  const linear_parameters = part(model.linear_parameters);
  const parameters = model.parameters - (model.block_parameters ?? model.linear_parameters) +
    block_parameters;
  const bytes = weightBytes(model);
  const linear = part(bytes.linear);
  const shallower: ModelFacts = {
    ...model,
    layers,
    parameters,
    linear_parameters,
    fp16_bytes: 2 * parameters,
    linear_shapes: model.linear_shapes.map((shape) => ({ ...shape, count: part(shape.count) })),
    ...(model.block_matrices === undefined ? {} : {
      block_matrices: model.block_matrices.map((one) => (
        { ...one, blocks: [[0, layers - 1] as [number, number]] }
      )),
    }),
    ...(model.expert_parameters === undefined
      ? {}
      : { expert_parameters: part(model.expert_parameters) }),
    ...(model.block_parameters === undefined ? {} : { block_parameters }),
  };
  // What goes with the matrices are norms and biases, two bytes each.
  const gone = 2 * (model.parameters - parameters) -
    2 * (model.linear_parameters - linear_parameters);
  const rest = bytes.rest - gone;
  return { changes: CHANGES, model: withWeightBytes(shallower, { linear, rest }) };
}

/** One block fewer or more. */
function next(params: Params, finding: Finding, { model }: Facts): Params | null {
  const blocks = params.blocks + (finding === "lost" ? -1 : 1);
  if (blocks < 1 || blocks > Math.min(MOST, most(params, model))) return null;
  return { ...params, blocks, rounds: Math.min(params.rounds, blocks) };
}

/** Depth pruning: blocks by their influence, as ShortGPT, or by the loss without them. */
export default defineMethod({
  name: "depth",
  summary: "Cuts the decoder blocks that matter least away, the others move up",
  knobs_named_for: {
    ...GRANULARITY,
    sparsity_ratio: "how many go is blocks, a number of them",
  },
  knobs: {
    blocks: integer({
      minimum: 1,
      maximum: MOST,
      default: 1,
      log: true,
      unit: "blocks",
      description: "How many blocks go",
    }),
    importance: choice(["block_influence", "perplexity"], {
      default: "block_influence",
      unit: "what weighs a block",
      description:
        "1 - cosine of what goes into it with what comes out, or the loss on the windows without it",
    }),
    samples: calibrationWindows,
    rounds: integer({
      minimum: 1,
      maximum: MOST,
      default: 1,
      unit: "rounds",
      description:
        "Rounds that the blocks go in, weighed anew in each; as many as blocks: one by one",
    }),
    keep_first: integer({
      minimum: 0,
      maximum: 8,
      default: 0,
      unit: "blocks",
      description: "First blocks that are left alone",
    }),
    keep_last: integer({
      minimum: 0,
      maximum: 8,
      default: 0,
      unit: "blocks",
      description: "Last blocks that are left alone",
    }),
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves,
  order: {
    effect: "resizes",
    follows: ["trains", "resizes"],
    precedes: ["trains", "resizes", "prunes", "rounds", "encodes"],
    reason: "it cuts blocks of plain float weights",
  },
  label: ({ blocks, importance, rounds }) => [
    blocks === 1 ? "1 block" : `${blocks} blocks`,
    ...(importance === "perplexity" ? ["by perplexity"] : []),
    ...(rounds > 1 ? [`${rounds} rounds`] : []),
  ],
  hint: (about) => about === "quality" ? "Cut fewer blocks, or train after it" : "Cut more blocks",
  supports,
  accepts,
  seed(boldness, { model }) {
    if (boldness === "conservative") {
      return { blocks: Math.max(1, Math.floor(model.layers / MODEST)) };
    }
    const blocks = Math.floor(2 * model.layers / MODEST);
    return boldness === "balanced" && blocks > 1 ? { blocks: Math.min(MOST, blocks) } : null;
  },
  next,
  estimateSeconds({ importance, samples, rounds }, { model, device }) {
    const tried = importance === "perplexity" ? model.layers + 1 : 1;
    return START_SECONDS + rounds * tried * samples * passSeconds(model, device, false);
  },
  // The model in float32; the child's floats stay on disk until they are written.
  estimateMemory: (_params, { model }) => trainingMemory(model, 0),
});
