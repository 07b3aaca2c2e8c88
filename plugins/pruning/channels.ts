import {
  type Change,
  choice,
  defineMethod,
  type Facts,
  type Finding,
  type LinearShape,
  type ModelFacts,
  real,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";

const MOST = 0.5;
/** What a further try adds or takes away. */
const STEP = 0.125;
/** Group sizes that a row may be cut into. */
const GROUP_SIZES = [16, 32, 48, 64, 96, 128, 192, 256];
/** Weights a second on one core: norms in double precision, and one copy. */
const WEIGHTS_A_SECOND = 20e6;
const START_SECONDS = 6;
const PROCESS_BYTES = 0.8e9;

interface Params {
  readonly mlp_ratio: number;
  readonly attention_ratio: number;
  readonly round_to: 8 | 16 | 32 | 64;
}

/** What the blocks of a plain decoder are wide. */
interface Widths {
  readonly channels: number;
  readonly heads: number;
  readonly kv_heads: number;
}

/** As channels.py: the nearest multiple of `round_to`, of two as near the wider one. */
export function keptChannels(channels: number, ratio: number, round_to: number): number {
  if (ratio === 0) return channels;
  const steps = Math.floor(channels * (1 - ratio) / round_to + 0.5);
  return Math.min(channels, Math.max(1, steps) * round_to);
}

/** As channels.py: whole groups, the nearest number, of two as near the larger one. */
export function keptGroups(groups: number, ratio: number): number {
  return Math.max(1, Math.floor(groups * (1 - ratio) + 0.5));
}

function headDim({ head_dim, hidden_size, heads }: ModelFacts): number {
  return head_dim ?? Math.floor(hidden_size / heads);
}

function widthsOf({ intermediate_size, heads, kv_heads }: ModelFacts): Widths {
  return { channels: intermediate_size, heads, kv_heads };
}

function widthsAfter(params: Params, model: ModelFacts): Widths {
  const kv_heads = keptGroups(model.kv_heads, params.attention_ratio);
  return {
    channels: keptChannels(model.intermediate_size, params.mlp_ratio, params.round_to),
    heads: Math.floor(model.heads / model.kv_heads) * kv_heads,
    kv_heads,
  };
}

/** (out, in) of a block's linear layers: q, k, v, o, gate, up and down. */
function blockShapes(model: ModelFacts, { channels, heads, kv_heads }: Widths) {
  const [hidden, width] = [model.hidden_size, headDim(model)];
  const keys = [kv_heads * width, hidden] as const;
  const gate = [channels, hidden] as const;
  return [
    ...[[heads * width, hidden] as const, keys, keys, [hidden, heads * width] as const],
    ...[gate, gate, [hidden, channels] as const],
  ];
}

const named = ([rows, columns]: readonly [number, number]) => `${rows}x${columns}`;

/** Shapes with their counts, most first, as the facts of a model have them; biases left aside. */
function counted(model: ModelFacts, widths: Widths): Map<string, number> {
  const counts = new Map<string, number>();
  for (const shape of blockShapes(model, widths)) {
    counts.set(named(shape), (counts.get(named(shape)) ?? 0) + model.layers);
  }
  return counts;
}

/** Whether the linear layers are those of plain decoder blocks, and these widths say it all. */
function supports({ model }: Facts): Support {
  const expected = counted(model, widthsOf(model));
  const found = new Map<string, number>();
  for (const { out_features, in_features, count } of model.linear_shapes) {
    const name = named([out_features, in_features]);
    found.set(name, (found.get(name) ?? 0) + count);
  }
  const same = expected.size === found.size &&
    [...expected].every(([name, count]) => found.get(name) === count);
  if (same && model.heads % model.kv_heads === 0) return { ok: true };
  const reason = `${model.architecture} is not built of plain decoder layers: q, k, v and o ` +
    "beside gate, up and down, as in Llama";
  return { ok: false, reason };
}

function accepts(params: Params, { model }: Facts): Support {
  const [before, after] = [widthsOf(model), widthsAfter(params, model)];
  if (before.channels > after.channels || before.kv_heads > after.kv_heads) return { ok: true };
  const reason = `${before.channels} MLP channels and ${before.kv_heads} KV heads are left as ` +
    `they are by mlp_ratio ${params.mlp_ratio}, attention_ratio ${params.attention_ratio} and ` +
    `round_to ${params.round_to}`;
  return { ok: false, reason };
}

/** The linear layers after the cut: each shape of a block takes the place of its own. */
function shapesAfter(model: ModelFacts, after: Widths): LinearShape[] {
  const [old, cut] = [blockShapes(model, widthsOf(model)), blockShapes(model, after)];
  const left = new Map(
    model.linear_shapes.map((shape) => {
      const key = `${named([shape.out_features, shape.in_features])} ${shape.bias ?? false}`;
      const open: { count: number } = { ...shape };
      return [key, open] as const;
    }),
  );
  const made = new Map<string, LinearShape>();
  old.forEach((shape, place) => {
    // Where a model has biases, q, k and v have them before o and the MLP do.
    const bias = [true, false].find((one) =>
      (left.get(`${named(shape)} ${one}`)?.count ?? 0) >= model.layers
    ) ?? false;
    const taken = left.get(`${named(shape)} ${bias}`);
    if (taken !== undefined) {
      taken.count -= model.layers;
    }
    const [out_features, in_features] = cut[place]!;
    const key = `${named(cut[place]!)} ${bias}`;
    const count = (made.get(key)?.count ?? 0) + model.layers;
    made.set(key, { out_features, in_features, count, ...(bias ? { bias } : {}) });
  });
  return [...made.values()].sort((a, b) => b.count - a.count);
}

const weights = (shapes: readonly LinearShape[]) =>
  shapes.reduce((sum, shape) => sum + shape.count * shape.out_features * shape.in_features, 0);
const biases = (shapes: readonly LinearShape[]) =>
  shapes.reduce((sum, shape) => sum + (shape.bias ? shape.count * shape.out_features : 0), 0);

function leaves(params: Params, { model }: Facts) {
  const change: Change = { part: "linear", effect: "resizes", form: null, least_cosine: null };
  const after = widthsAfter(params, model);
  const linear_shapes = shapesAfter(model, after);
  const linear_parameters = weights(linear_shapes);
  const gone = model.linear_parameters - linear_parameters;
  const biasesGone = biases(model.linear_shapes) - biases(linear_shapes);
  const parameters = model.parameters - gone - biasesGone;
  const columns = linear_shapes.map(({ in_features }) => in_features);
  const narrowed: ModelFacts = {
    ...model,
    parameters,
    linear_parameters,
    fp16_bytes: 2 * parameters,
    intermediate_size: after.channels,
    heads: after.heads,
    kv_heads: after.kv_heads,
    head_dim: headDim(model),
    linear_shapes,
    group_sizes: GROUP_SIZES.filter((size) => columns.every((width) => width % size === 0)),
  };
  const bytes = weightBytes(model);
  const model_after = withWeightBytes(narrowed, {
    ...bytes,
    linear: 2 * linear_parameters,
    rest: bytes.rest - 2 * biasesGone,
  });
  return { changes: [change], model: model_after };
}

/** The widest step, up to what runtimes like, that an eighth of the channels is not less than. */
function stepOf({ intermediate_size }: ModelFacts): 8 | 16 | 32 {
  return ([32, 16] as const).find((step) => step <= STEP * intermediate_size) ?? 8;
}

/** An eighth fewer or more channels; attention stays as it is, which costs more quality. */
function next(params: Params, finding: Finding): Params | null {
  const mlp_ratio = params.mlp_ratio + (finding === "lost" ? -STEP : STEP);
  return mlp_ratio < STEP || mlp_ratio > MOST ? null : { ...params, mlp_ratio };
}

/** Structured pruning by weight norm: no calibration data, one pass over the weights. */
export default defineMethod({
  name: "channels",
  summary: "Cuts whole MLP channels and attention groups of least norm away",
  knobs: {
    mlp_ratio: real({
      minimum: 0,
      maximum: MOST,
      default: 0.25,
      unit: "share of the MLP channels",
      description: "How many of every layer's MLP channels go",
    }),
    attention_ratio: real({
      minimum: 0,
      maximum: MOST,
      default: 0,
      unit: "share of the KV heads",
      description: "How many of every layer's KV heads go, each with all its query heads",
    }),
    round_to: choice([8, 16, 32, 64], {
      default: 32,
      unit: "channels",
      description: "The channels that are left are a multiple of this, which runtimes like",
    }),
  },
  needs: { environment: "default", gpu: false },
  leaves,
  order: {
    effect: "resizes",
    follows: ["trains"],
    precedes: ["trains", "prunes", "rounds", "encodes"],
    reason: "it cuts rows and columns of float weights, once",
  },
  label: ({ mlp_ratio, attention_ratio }) => [
    ...(mlp_ratio > 0 ? [`${Math.round(100 * mlp_ratio)}% of MLP`] : []),
    ...(attention_ratio > 0 ? [`${Math.round(100 * attention_ratio)}% of heads`] : []),
  ],
  hint: (about) => about === "quality" ? "Cut less, or train after it" : "Cut more",
  supports,
  accepts,
  auto: ({ model }) => ({
    round_to: {
      value: stepOf(model),
      reason: "the widest step that an eighth of the channels has",
    },
  }),
  seed(boldness, { model }) {
    const round_to = stepOf(model);
    if (boldness === "conservative") return { mlp_ratio: STEP, round_to };
    return boldness === "balanced" ? { mlp_ratio: 2 * STEP, round_to } : null;
  },
  next,
  estimateSeconds: (_params, { model }) =>
    START_SECONDS + model.linear_parameters / WEIGHTS_A_SECOND,
  // What is left as float16, and one layer's norms in double precision.
  estimateMemory: (_params, { model }) => PROCESS_BYTES + 4 * model.linear_parameters,
});
