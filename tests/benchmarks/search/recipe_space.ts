/** The recipes of the recorded table: a conditional space over every family that makes a model smaller. */
import type { Action, Dimension, PointValue, Space, SpacePoint } from "../../../core/mod.ts";

type Params = Action["params"];

const choice = (
  name: string,
  choices: readonly PointValue[],
  when?: Dimension["when"],
): Dimension => ({ name, kind: "choice", choices, ...(when === undefined ? {} : { when }) });

/** Of calibrated methods, so that hundreds of recipes take hours and not days. */
const FEW = { samples: 4 };

/** Cuts that a recipe may begin with. */
const CUTS: Readonly<Record<string, Action | null>> = {
  none: null,
  depth: pruning("depth", { blocks: 2, samples: 8 }),
  channels: pruning("channels", { mlp_ratio: 0.125, importance: "taylor", samples: 8 }),
  sparsegpt: pruning("sparsegpt", { sparsity: 0.5, ...FEW }),
};
/** Behind these a short training is tried: with the other cuts as well, the table would take a day. */
const RECOVERED = ["depth"];
const TRAINING = { steps: 20, batch: 1, tokens: 256, held_out: 0 };
const RECOVERIES: Readonly<Record<string, Action | null>> = {
  none: null,
  lora: { agent: "finetuning", method: "lora", params: { ...TRAINING, rank: 16 } },
  distill: { agent: "distillation", method: "distill", params: TRAINING },
};

/** Grids: bits for all of them, the group for those that are quick. */
const GRIDS: Readonly<Record<string, Params>> = {
  rtn: {},
  hqq: {},
  gptq: FEW,
  awq: { ...FEW, search_steps: 4 },
  fisher_clip: { ...FEW, search_steps: 5 },
  autoround: { ...FEW, seqlen: 128 },
};
const GROUPED = ["rtn", "gptq"];
const USUAL_GROUP = 64;
/** Of the embedding, which is the output head too: bits in groups of 64. */
const EMBEDDINGS: Readonly<Record<string, number | null>> = { floats: null, int8: 8, int4: 4 };

/** Features of an input that share a scale, as OpenVINO rounds them. */
const INPUTS = { activation_group_size: 64 };
/** What rounds or encodes with one setting. */
const FIXED: Readonly<Record<string, Action>> = {
  int8: quantization("int8", INPUTS),
  smoothquant: quantization("smoothquant", { ...FEW, ...INPUTS }),
  nf4: quantization("nf4", {}),
  fp8: quantization("fp", { float_format: "fp8_e4m3" }),
  nvfp4: quantization("fp", { float_format: "nvfp4" }),
  mixed: quantization("mixed", { average_bits: 3.5, ...FEW }),
  hyper_compression: codec("hyper_compression", { lattice_points: 400, entropy_coded: true }),
  vptq: codec("vptq", { vector_length: 2, centroid_bits: 8, refits: 0, ...FEW }),
};

function pruning(method: string, params: Params): Action {
  return { agent: "pruning", method, params };
}

function quantization(method: string, params: Params): Action {
  return { agent: "quantization", method, params };
}

function codec(method: string, params: Params): Action {
  return { agent: "codec", method, params };
}

/** Each behind the one that it hangs on. */
const DIMENSIONS: Dimension[] = [
  choice("cut", Object.keys(CUTS)),
  choice("recover", Object.keys(RECOVERIES), { name: "cut", is: RECOVERED }),
  choice("round", ["none", ...Object.keys(GRIDS), ...Object.keys(FIXED)]),
  {
    name: "bits",
    kind: "ordinal",
    choices: [3, 4],
    when: { name: "round", is: Object.keys(GRIDS) },
  },
  {
    name: "group",
    kind: "ordinal",
    choices: [64, 192],
    when: { name: "round", is: GROUPED },
  },
  choice("embedding", Object.keys(EMBEDDINGS)),
];

export const RECIPES: Space = { dimensions: DIMENSIONS };

/** The actions of a point, in turn; none of them: the model as it was given. */
export function actionsOf(point: SpacePoint): Action[] {
  const cut = CUTS[String(point["cut"])] ?? null;
  const round = String(point["round"]);
  const recovery = RECOVERIES[String(point["recover"])] ?? null;
  const actions = [cut, recovery].filter((action) => action !== null);
  const grid = GRIDS[round];
  if (grid !== undefined) {
    const group_size = Number(point["group"] ?? USUAL_GROUP);
    actions.push(quantization(round, { ...grid, bits: Number(point["bits"]), group_size }));
  }
  const fixed = FIXED[round];
  if (fixed !== undefined) actions.push(fixed);
  const embedding_bits = EMBEDDINGS[String(point["embedding"])] ?? null;
  if (embedding_bits !== null) {
    const params = { bits: embedding_bits, group_size: USUAL_GROUP, targets: "embedding" };
    actions.push(quantization("rtn", params));
  }
  return actions;
}

function grown(points: readonly SpacePoint[], { name, choices, when }: Dimension): SpacePoint[] {
  return points.flatMap((point) => {
    const there = when === undefined || when.is.includes(point[when.name]!);
    return there ? choices!.map((value) => ({ ...point, [name]: value })) : [point];
  });
}

/** What is recorded first: any beginning of this list, whole, is a smaller space. */
const FIRST = [
  "none",
  "depth none",
  "channels",
  "sparsegpt",
  "depth distill",
  "depth lora",
];

const begun = ({ cut, recover }: SpacePoint) =>
  FIRST.indexOf([cut, recover].filter((one) => one !== undefined).join(" "));

/**
 * Every point, one beginning after the other. Points that differ in the embedding alone follow each
 * other, as all that comes before is made once.
 */
export function recipePoints(): SpacePoint[] {
  return RECIPES.dimensions.reduce(grown, [{}] as SpacePoint[])
    .toSorted((a, b) => begun(a) - begun(b));
}

/** So many points follow each other of which all but the last action is the same. */
export const ALIKE = Object.keys(EMBEDDINGS).length;
