/** The recipes of the recorded table: a conditional space over every family that makes a model smaller. */
import {
  type Action,
  type Dimension,
  pointKey,
  type PointValue,
  type Space,
  type SpacePoint,
  streamRandom,
} from "../../../core/mod.ts";

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
  magnitude: pruning("magnitude", { sparsity: 0.3 }),
  wanda: pruning("wanda", { sparsity: 0.5, pattern: "2:4", ...FEW }),
  sparsegpt: pruning("sparsegpt", { sparsity: 0.5, ...FEW }),
  channels: pruning("channels", { mlp_ratio: 0.125, importance: "taylor", samples: 8 }),
  depth: pruning("depth", { blocks: 2, samples: 8 }),
};
/** Of these the shapes change, and a short training wins much of it back. */
const RESHAPED = ["channels", "depth"];
const LORA: Params = { steps: 20, batch: 1, tokens: 256, rank: 16, held_out: 0 };

/** Grids: bits for all of them, the group for those that are quick. */
const GRIDS: Readonly<Record<string, Params>> = {
  rtn: {},
  hqq: {},
  gptq: FEW,
  awq: { ...FEW, search_steps: 4 },
  fisher_clip: { ...FEW, search_steps: 5 },
  autoround: { ...FEW, seqlen: 128 },
};
const GROUPED = ["rtn", "hqq", "gptq", "awq"];
const USUAL_GROUP = 64;

/** What rounds or encodes with one setting. */
const FIXED: Readonly<Record<string, Action>> = {
  int8: quantization("int8", {}),
  smoothquant: quantization("smoothquant", FEW),
  nf4: quantization("nf4", {}),
  fp8: quantization("fp", { float_format: "fp8_e4m3" }),
  nvfp4: quantization("fp", { float_format: "nvfp4" }),
  mixed: quantization("mixed", { average_bits: 3.5, ...FEW }),
  hyper_compression: codec("hyper_compression", { lattice_points: 400 }),
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
  choice("recover", [false, true], { name: "cut", is: RESHAPED }),
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
  choice("embedding", ["floats", "int8"]),
];

export const RECIPES: Space = { dimensions: DIMENSIONS };

/** The actions of a point, in turn; none of them: the model as it was given. */
export function actionsOf(point: SpacePoint): Action[] {
  const cut = CUTS[String(point["cut"])] ?? null;
  const round = String(point["round"]);
  const actions: Action[] = cut === null ? [] : [cut];
  if (point["recover"] === true) {
    actions.push({ agent: "finetuning", method: "lora", params: LORA });
  }
  const grid = GRIDS[round];
  if (grid !== undefined) {
    const group_size = Number(point["group"] ?? USUAL_GROUP);
    actions.push(quantization(round, { ...grid, bits: Number(point["bits"]), group_size }));
  }
  const fixed = FIXED[round];
  if (fixed !== undefined) actions.push(fixed);
  if (point["embedding"] === "int8") {
    const params = { bits: 8, group_size: USUAL_GROUP, targets: "embedding" };
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

/** Every point, shuffled, so that any beginning of it has each pair of cut and rounding about as often. */
export function recipePoints(seed = 1): SpacePoint[] {
  const random = streamRandom(seed, "recipes");
  const drawn = RECIPES.dimensions.reduce(grown, [{}] as SpacePoint[])
    .map((point) => ({ point, by: random() }))
    .sort((a, b) => a.by - b.by);
  const before = new Map<string, number>();
  const ranked = drawn.map(({ point }) => {
    const family = pointKey(RECIPES, {
      cut: point["cut"]!,
      round: point["round"]!,
    });
    const rank = before.get(family) ?? 0;
    before.set(family, rank + 1);
    return { point, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ point }) => point);
}
