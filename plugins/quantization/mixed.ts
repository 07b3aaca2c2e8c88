import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  flag,
  integer,
  type Leaves,
  real,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";
import { gridBytes, type GridForm } from "../forms/grid.ts";
import {
  autoGroupSize,
  dividesRows,
  gridForm,
  gridKnobsNamedFor,
  type GridParams,
  GROUP_SIZES,
  groupSize,
  leavesRounded,
  linearRows,
  modelMemory,
  packsLinearLayers,
  roundsOnce,
  seedGroupSize,
  SMALL_MODEL,
  symmetricGrid,
} from "./_groups.ts";
import { calibrationWindows, GPU_SPEED, tunesEveryLayer } from "./_linear.ts";

/** A step of the budget, when there is to be more or less of it. */
const STEP_BITS = 0.5;
/** For SmolLM2-135M on one core: 300 tokens per second forwards, a third of it with the way back. */
const START_SECONDS = 8;
const SECONDS_A_WEIGHT_AND_TOKEN = 3e-11;
/** Rounding with a clip, twice: to score, and to write. */
const SECONDS_A_WEIGHT_AND_WIDTH = 2.5e-7;
/** GPTQ's own, as in gptq.ts. */
const SECONDS_A_WEIGHT = 1.3e-7;
/** AutoRound's eight steps of four windows and its passes over all of them, as in autoround.ts. */
const SECONDS_A_BLOCK = 0.5;
const SECONDS_A_TUNED_WEIGHT_AND_TOKEN = 8e-12;
/** One format of the loop that takes all of them; nothing once the layers are kept. */
const SECONDS_A_KEPT_WEIGHT = 1e-7;

/** What an assignment looks like; it is read by mixing/assignment.py of the Python half. */
const ASSIGNMENT = "[a-z0-9-]{5,20}=[0-9,-]+( [a-z0-9-]{5,20}=[0-9,-]+){0,31}";
const FORMAT = /^(2|3|4|8)-bit(?:-g([1-9][0-9]*))?(-asym)?$/;

interface MixParams {
  readonly average_bits: number;
  readonly layer_bits: string;
  readonly group_size: GridParams["group_size"];
  readonly symmetric: boolean;
  readonly assignment: string;
  readonly rounded_by: string;
}

/** The formats that an assignment names; null: one is none of a grid. */
function assignedGrids(assignment: string): GridForm[] | null {
  const grids = assignment.split(" ").map((part) => {
    const found = FORMAT.exec(part.split("=")[0]!);
    if (found === null) return null;
    const group_size = found[2] === undefined ? -1 : Number(found[2]);
    if (!GROUP_SIZES.some((size) => size === group_size)) return null;
    return gridForm({
      bits: Number(found[1]) as GridParams["bits"],
      group_size: group_size as GridParams["group_size"],
      symmetric: found[3] === undefined,
    });
  });
  return grids.every((grid) => grid !== null) ? grids : null;
}

/** The grids that a layer may have, the smallest first. */
function grids({ layer_bits, group_size, symmetric, assignment }: MixParams): GridForm[] {
  const given = assignment === "none" ? null : assignedGrids(assignment);
  return given ??
    layer_bits.split("-").map(Number).map((bits) =>
      gridForm({ bits: bits as GridParams["bits"], group_size, symmetric })
    );
}

/** Bits a weight, scales included, if all layers had the smallest grid, and the largest. */
function reach(params: MixParams, { model }: Facts): { least: number; most: number } {
  const weights = model.linear_shapes.reduce(
    (sum, { out_features, in_features, count }) => sum + out_features * in_features * count,
    0,
  );
  const all = grids(params).map((form) => 8 * gridBytes(form, model.linear_shapes) / weights);
  return { least: Math.min(...all), most: Math.max(...all) };
}

/** The mix fills its budget: a layer has one of the grids, and all together have the mean. */
function leaves(params: MixParams, facts: Facts): Leaves {
  const changes = grids(params).flatMap((form): readonly Change[] =>
    leavesRounded(["linear"], form, facts).changes
  );
  const { least, most } = reach(params, facts);
  const mean = Math.min(Math.max(params.average_bits, least), most);
  const linear = mean * facts.model.linear_parameters / 8;
  const bytes = { ...weightBytes(facts.model), linear };
  return { changes, model: withWeightBytes(facts.model, bytes) };
}

function accepts(params: MixParams, facts: Facts): Support {
  const packs = packsLinearLayers(facts);
  if (!packs.ok) return packs;
  if (params.rounded_by === "autoround") {
    const tunes = tunesEveryLayer(facts);
    if (!tunes.ok) return tunes;
  }
  if (params.assignment !== "none" && assignedGrids(params.assignment) === null) {
    const why = "BITS-bit, BITS-bit-gGROUP or BITS-bit-gGROUP-asym";
    return { ok: false, reason: `its assignment names a format that is none of ${why}` };
  }
  for (const { group_size } of grids(params)) {
    const divides = dividesRows(group_size, linearRows(facts));
    if (!divides.ok) return divides;
  }
  const { least, most } = reach(params, facts);
  const { average_bits } = params;
  // The mean of an assignment is told in three digits.
  const slack = params.assignment === "none" ? 0 : 0.01;
  if (average_bits >= least - slack && average_bits <= most + slack) return { ok: true };
  const ends = `${least.toFixed(2)} to ${most.toFixed(2)} bits per weight, scales included`;
  const which = params.assignment === "none" ? `${params.layer_bits} bits` : "these formats";
  return {
    ok: false,
    reason: `layers of ${which} have ${ends}, not ${average_bits} on average`,
  };
}

/** A format of its own for each layer. */
export default defineMethod({
  name: "mixed",
  summary: "Gives each layer the bits that it needs most, under a mean number of bits per weight",
  knobs_named_for: {
    ...gridKnobsNamedFor,
    targets:
      "its budget and its assignment are of the linear layers of blocks: for embedding and " +
      "output head put gptq, awq or rtn with targets: embedding behind it",
  },
  knobs: {
    average_bits: real({
      minimum: 2,
      maximum: 8.5,
      default: 4,
      unit: "bits per weight, scales included",
      description: "Mean over the linear weights that the mix may have at most",
    }),
    layer_bits: choice(["2-3-4-8", "2-3-4", "3-4-8", "3-4", "4-8"], {
      default: "3-4-8",
      unit: "bits that a layer may have",
      description: "Bits of the integers that a layer may be given",
    }),
    group_size: groupSize,
    symmetric: symmetricGrid,
    scored_by: choice(["kl", "fisher", "reconstruction", "auto_scheme"], {
      default: "fisher",
      unit: "scorer of a layer",
      description: "What a layer's format is taken to cost: kl is measured by forward passes for " +
        "each layer and format, fisher estimates it by one backward pass; auto_scheme is the " +
        "delta loss of AutoRound's AutoScheme, a backward pass a format",
    }),
    rounded_by: choice(["rtn", "gptq", "autoround", "kept"], {
      default: "rtn",
      unit: "method that rounds",
      description: "What rounds the layers once their formats are chosen, by its defaults; kept " +
        "takes layers that gptq rounded to each format once, by the inputs of the model as it was",
    }),
    assignment: choice(["none"], {
      default: "none",
      unit: "format=layers of the model's order",
      pattern: ASSIGNMENT,
      description: "The mix itself, such as 3-bit-g64=0-6,9 4-bit-g64=7-8, in place of one that " +
        "is chosen: then average_bits only tells its size",
    }),
    fused_alike: flag({
      default: false,
      description: "Layers that are given the same input, such as Q, K and V, share a format, as " +
        "runtimes that fuse them need",
    }),
    samples: calibrationWindows(8),
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
  needs: { environment: "default", data: "calibration", keeps_layers: true, gpu: false },
  leaves,
  order: roundsOnce,
  label: ({ average_bits, layer_bits, group_size, assignment }) =>
    assignment !== "none" ? [`${average_bits}-bit`, "as assigned"] : [
      `${average_bits}-bit`,
      `of ${layer_bits}`,
      ...(group_size > 0 ? [`g${group_size}`] : []),
    ],
  hint: (about) => about === "quality" ? "Allow more bits on average" : "Allow fewer bits",
  supports: packsLinearLayers,
  accepts,
  auto: (facts) => ({ group_size: autoGroupSize(facts) }),
  seed(boldness, facts) {
    if (boldness !== "aggressive") return null;
    // 4.25 is what 4 bits in groups of 64 take: the mix may be that.
    const average_bits = facts.model.parameters < SMALL_MODEL ? 4.25 : 3.5;
    return { average_bits, group_size: seedGroupSize(facts), rounded_by: "gptq" };
  },
  next(params, finding, facts) {
    if (params.assignment !== "none") return null; // the next mix is another assignment
    const step = finding === "lost" ? STEP_BITS : -STEP_BITS;
    const further = { ...params, average_bits: params.average_bits + step };
    return accepts(further, facts).ok ? further : null;
  },
  estimateSeconds(params, { model, device }) {
    const { layer_bits, scored_by, rounded_by, samples, seqlen, assignment } = params;
    const count = assignment === "none" ? layer_bits.split("-").length : 0;
    // A pass for each layer and width; a restart at the layer's block halves it.
    const layers = model.linear_shapes.reduce((sum, shape) => sum + shape.count, 0);
    const scoring = { kl: layers * count / 2, auto_scheme: 4 * count }[scored_by as string] ?? 4;
    const passes = assignment === "none" ? scoring : 0;
    const a_pass = samples * seqlen * SECONDS_A_WEIGHT_AND_TOKEN;
    const a_weight = count * SECONDS_A_WEIGHT_AND_WIDTH + passes * a_pass +
      (rounded_by === "gptq" ? SECONDS_A_WEIGHT + 2 * a_pass : 0) +
      (rounded_by === "kept" ? Math.max(count, 1) * SECONDS_A_KEPT_WEIGHT + a_pass : 0) +
      (rounded_by === "autoround"
        ? 3 * seqlen * (8 * Math.min(4, samples) + samples) * SECONDS_A_TUNED_WEIGHT_AND_TOKEN
        : 0);
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    const blocks = rounded_by === "autoround" ? model.layers * SECONDS_A_BLOCK : 0;
    return START_SECONDS + blocks + model.linear_parameters * a_weight / speed;
  },
  // The model, its squared gradients and a window's activations; the logits of every window.
  estimateMemory({ samples, seqlen }, facts) {
    const { embedding_parameters, hidden_size } = facts.model;
    return modelMemory(facts, 3) + 8 * samples * seqlen * embedding_parameters / hidden_size;
  },
});
