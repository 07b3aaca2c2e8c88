import { choice, defineMethod, type Facts, type Leaves, real } from "../../core/mod.ts";
import type { GridForm } from "../forms/grid.ts";
import {
  acceptsLinear,
  dividesRows,
  gridForm,
  type GROUP_SIZES,
  groupSize,
  largestGroup,
  leavesRounded,
  linearRows,
  modelMemory,
  packsLinearLayers,
  roundsOnce,
} from "./_groups.ts";
import { autoInputGroup, inputGroup, leavesScaledForm } from "./_inputs.ts";
import { calibrationWindows, GPU_SPEED } from "./_linear.ts";
import { targetedWeights, withOuterLayers, withTargets } from "./_targets.ts";

/** As in awq.ts, with no search: one pass of the windows, one rounding. */
const SECONDS_A_WEIGHT = 5e-8;
const SECONDS_A_WEIGHT_AND_WINDOW = 1e-8;
const START_SECONDS = 8;
/** Of weights, as kernels have it. */
const LARGEST_AUTO_GROUP = 64;

const EMULATED =
  "no runtime here computes with fixed ranges of inputs: they are emulated, floats " +
  "that are rounded as integers would be";

interface SmoothParams {
  readonly smoothing: number;
  readonly weight_scale: "per_channel" | "per_tensor" | "per_group";
  readonly group_size: (typeof GROUP_SIZES)[number];
  readonly activation_scheme: "dynamic" | "static" | "floats";
  readonly activation_group_size: (typeof GROUP_SIZES)[number];
  readonly targets: "linear" | "all";
}

const weightGroup = ({ weight_scale, group_size }: SmoothParams) =>
  weight_scale === "per_group" ? group_size : -1;

const weightForm = (params: SmoothParams) =>
  gridForm({ bits: 8, group_size: weightGroup(params), symmetric: true });

function storedForm(params: SmoothParams): GridForm {
  const { activation_scheme, activation_group_size } = params;
  const weights = weightForm(params);
  if (activation_scheme === "floats") return weights;
  if (activation_scheme === "dynamic") return { ...weights, activation_group_size };
  return { ...weights, activation_group_size: -1, activation_range: "static" };
}

/** Linear layers as the scheme has them; embedding and head have rounded weights alone. */
function leaves(params: SmoothParams, facts: Facts): Leaves {
  const form = storedForm(params);
  const linear = params.smoothing > 0
    ? leavesScaledForm(form, facts)
    : leavesRounded(["linear"], form, facts);
  const fixed = params.activation_scheme === "static";
  const changes = fixed
    ? linear.changes.map((change) => ({ ...change, no_faster: EMULATED }))
    : linear.changes;
  if (params.targets === "linear") return { ...linear, changes };
  const model = linear.model ?? facts.model;
  const outer = leavesRounded(["embedding"], weightForm(params), { ...facts, model });
  return { ...outer, changes: [...changes, ...outer.changes] };
}

/** SmoothQuant, and W8A8 or W8A16 without it. */
export default defineMethod({
  name: "smoothquant",
  summary: "Moves outliers of inputs into the weights, then rounds both to 8 bits",
  knobs: {
    smoothing: real({
      minimum: 0,
      maximum: 0.95,
      default: 0.5,
      unit: "exponent of the largest input",
      description: "How much of the outliers the weights take; 0: nothing is moved",
      aliases: ["smoothing_strength", "alpha"],
    }),
    weight_scale: choice(["per_channel", "per_tensor", "per_group"], {
      default: "per_channel",
      unit: "weights a scale",
      description: "One scale for each output channel, for the matrix, or for each group",
      aliases: ["granularity"],
    }),
    group_size: { ...groupSize, only_where: { knob: "weight_scale", is: ["per_group"] } },
    activation_scheme: choice(["dynamic", "static", "floats"], {
      default: "dynamic",
      unit: "inputs",
      description: "8 bits by ranges found as the model runs, by one fixed range, or floats",
    }),
    activation_group_size: {
      ...inputGroup,
      only_where: { knob: "activation_scheme", is: ["dynamic"] },
    },
    samples: calibrationWindows(16),
    targets: withOuterLayers,
  },
  needs: { environment: "default", data: "calibration", gpu: false },
  leaves,
  order: roundsOnce,
  label: (params) =>
    withTargets(params.targets, [
      params.activation_scheme === "floats" ? "W8A16" : "W8A8",
      ...(params.activation_scheme === "static" ? ["static"] : []),
      ...(params.weight_scale === "per_channel" ? [] : [params.weight_scale.replace("_", " ")]),
      ...(params.smoothing > 0 ? [`smoothing ${params.smoothing}`] : []),
    ]),
  hint: (about) =>
    about === "quality" ? "Take dynamic ranges, smaller groups or more smoothing" : null,
  supports: packsLinearLayers,
  accepts(params, facts) {
    const { activation_scheme, activation_group_size: group } = params;
    const divides = dividesRows(activation_scheme === "dynamic" ? group : -1, linearRows(facts));
    if (!divides.ok) return divides;
    if (params.targets === "all") {
      const rows = dividesRows(weightGroup(params), [facts.model.hidden_size]);
      if (!rows.ok) return rows;
    }
    return acceptsLinear({ bits: 8, group_size: weightGroup(params), symmetric: true }, facts);
  },
  auto(facts) {
    const group_size = largestGroup(facts, LARGEST_AUTO_GROUP);
    return { group_size, activation_group_size: autoInputGroup(facts) };
  },
  seed: (boldness) => boldness === "balanced" ? { activation_group_size: "auto" } : null,
  next(params, finding) {
    if (finding === "kept") return null;
    return params.activation_scheme === "static"
      ? { ...params, activation_scheme: "dynamic" }
      : null;
  },
  estimateSeconds({ samples, targets }, facts) {
    const { model, device } = facts;
    const a_weight = SECONDS_A_WEIGHT + samples * SECONDS_A_WEIGHT_AND_WINDOW;
    const speed = device.device === "cuda" ? GPU_SPEED : 1;
    const outer = targetedWeights(targets, facts) - model.linear_parameters;
    const rounded = outer * SECONDS_A_WEIGHT;
    return START_SECONDS + (model.linear_parameters * a_weight + rounded) / speed;
  },
  // The model, what is rounded of it, one block's second moments.
  estimateMemory: (_params, facts) => modelMemory(facts, 2),
});
