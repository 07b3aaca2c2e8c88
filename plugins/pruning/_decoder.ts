/** The linear layers of a decoder's blocks, told by their shapes, and what a cut leaves of them. */
import {
  type LinearShape,
  type ModelFacts,
  type Support,
  weightBytes,
  withWeightBytes,
} from "../../core/mod.ts";

/** Group sizes that a row may be cut into. */
const GROUP_SIZES = [16, 32, 48, 64, 96, 128, 192, 256];
/** Architectures whose config.json has no word for the width of the MLP. */
const OF_FIXED_WIDTH = ["bloom"];

/** What the blocks of a decoder are wide. */
export interface Widths {
  readonly channels: number;
  readonly heads: number;
  readonly kv_heads: number;
}

/** (out, in) of a matrix. */
type Shape = readonly [number, number];

/** How the layers of a block lie: gate and up apart, one above the other, or no gate at all. */
interface Style {
  readonly mlp: "gated" | "fused" | "two_layers";
  /** q, k and v apart, one above the other, or of some other kind, which is left as it is. */
  readonly attention: "separate" | "fused" | "other";
}

const STYLES: readonly Style[] = [
  { mlp: "gated", attention: "separate" },
  { mlp: "fused", attention: "fused" },
  { mlp: "gated", attention: "other" },
  { mlp: "fused", attention: "other" },
  { mlp: "two_layers", attention: "other" },
];

function headDim({ head_dim, hidden_size, heads }: ModelFacts): number {
  return head_dim ?? Math.floor(hidden_size / heads);
}

export function widthsOf({ intermediate_size, heads, kv_heads }: ModelFacts): Widths {
  return { channels: intermediate_size, heads, kv_heads };
}

/** Shapes of a block's linear layers, of those that a cut may change. */
function blockShapes(model: ModelFacts, { mlp, attention }: Style, widths: Widths): Shape[] {
  const [hidden, width] = [model.hidden_size, headDim(model)];
  const { channels, heads, kv_heads } = widths;
  const keys: Shape = [kv_heads * width, hidden];
  const output: Shape = [hidden, heads * width];
  const inner: Record<Style["mlp"], Shape[]> = {
    gated: [[channels, hidden], [channels, hidden]],
    fused: [[2 * channels, hidden]],
    two_layers: [[channels, hidden]],
  };
  const own: Record<Style["attention"], Shape[]> = {
    separate: [[heads * width, hidden], keys, keys, output],
    fused: [[(heads + 2 * kv_heads) * width, hidden], output],
    other: [],
  };
  return [...own[attention], ...inner[mlp], [hidden, channels]];
}

const named = ([rows, columns]: Shape) => `${rows}x${columns}`;

/** Shapes with their counts in all blocks, biases left aside. */
function counted(shapes: readonly Shape[], layers: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (const shape of shapes) {
    counts.set(named(shape), (counts.get(named(shape)) ?? 0) + layers);
  }
  return counts;
}

function found({ linear_shapes }: ModelFacts): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { out_features, in_features, count } of linear_shapes) {
    const name = named([out_features, in_features]);
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}

/** The style whose layers the model has: all of them, or beside an attention of another kind. */
function styleOf(model: ModelFacts): Style | null {
  const held = found(model);
  return STYLES.find((style) => {
    const wanted = counted(blockShapes(model, style, widthsOf(model)), model.layers);
    const has = [...wanted].every(([name, count]) => (held.get(name) ?? 0) >= count);
    if (style.attention === "other") return has;
    return has && held.size === wanted.size &&
      [...wanted].every(([name, count]) => held.get(name) === count);
  }) ?? null;
}

const STATE_ALONE =
  "keeps a state in every block, with no MLP and no heads of attention that could be made narrower";

/** Whether the MLPs of the model's blocks can be made narrower. */
export function hasChannels(model: ModelFacts): Support {
  const no = (reason: string): Support => ({ ok: false, reason });
  const { architecture, model_type, expert_parameters = 0, unpackable, heads, kv_heads } = model;
  if (expert_parameters > 0) {
    return no(`the MLPs of ${architecture} are a mixture's experts, whose channels pare cuts not`);
  }
  if (unpackable !== null && unpackable !== undefined) return no(unpackable);
  if (heads === 0) return no(`${architecture} ${STATE_ALONE}: depth takes whole blocks`);
  if (OF_FIXED_WIDTH.includes(model_type)) {
    return no(`the configuration of ${architecture} names no width of the MLP`);
  }
  if (styleOf(model) !== null && heads % kv_heads === 0) return { ok: true };
  return no(
    `${architecture} is not built of plain decoder layers: gate, up and down beside any ` +
      "attention, as in Llama, or an MLP of two layers, as in GPT-2",
  );
}

/** Whether heads can go: from q, k, v and o beside gate, up and down, apart or fused. */
export function hasHeads(model: ModelFacts): Support {
  if (model.heads === 0) return { ok: false, reason: `${model.architecture} ${STATE_ALONE}` };
  if ((styleOf(model)?.attention ?? "other") !== "other") return { ok: true };
  return {
    ok: false,
    reason: `heads of ${model.architecture} cannot go: they do from q, k, v and o beside gate, ` +
      "up and down alone, as in Llama; its MLP channels can, with attention_ratio 0",
  };
}

/** The linear layers after the cut: each shape of a block takes the place of its own. */
function shapesAfter(model: ModelFacts, after: Widths): LinearShape[] {
  const style = styleOf(model) ?? STYLES[0]!;
  const [old, cut] = [widthsOf(model), after].map((one) => blockShapes(model, style, one));
  const left = new Map(
    model.linear_shapes.map((shape) => {
      const open: { count: number; bias?: boolean | undefined } & Omit<LinearShape, "bias"> = {
        ...shape,
      };
      return [`${named([shape.out_features, shape.in_features])} ${shape.bias ?? false}`, open];
    }),
  );
  const made = new Map<string, LinearShape>();
  const add = ([out_features, in_features]: Shape, bias: boolean, more: number) => {
    const key = `${out_features}x${in_features} ${bias}`;
    const count = (made.get(key)?.count ?? 0) + more;
    made.set(key, { out_features, in_features, count, ...(bias ? { bias } : {}) });
  };
  old!.forEach((shape, place) => {
    // Where a model has biases, q, k and v have them before o and the MLP do.
    const bias = [true, false].find((one) =>
      (left.get(`${named(shape)} ${one}`)?.count ?? 0) >= model.layers
    ) ?? false;
    const taken = left.get(`${named(shape)} ${bias}`);
    if (taken !== undefined) {
      taken.count -= model.layers;
    }
    add(cut![place]!, bias, model.layers);
  });
  for (const { out_features, in_features, count, bias } of left.values()) {
    if (count > 0) add([out_features, in_features], bias ?? false, count);
  }
  return [...made.values()].sort((a, b) => b.count - a.count);
}

/** Names of matrices whose product is as wide as a token, whatever is cut. */
const BACK = /(?:o_proj|out_proj|dense|down_proj|c_proj|dense_4h_to_h|fc_out|fc2|w2)$/;

/** The matrices of a block after the cut: of shapes that are alike before it, what keeps its other side. */
function matricesAfter(model: ModelFacts, after: Widths): ModelFacts["block_matrices"] {
  const style = styleOf(model) ?? STYLES[0]!;
  const [old, cut] = [widthsOf(model), after].map((one) => blockShapes(model, style, one));
  return model.block_matrices?.map((one) => {
    const { name, out_features, in_features } = one;
    const own = named([out_features, in_features]);
    const back = BACK.test(name);
    const [rows, columns] = cut!.find(([rows, columns], place) =>
      named(old![place]!) === own && (back ? rows === out_features : columns === in_features)
    ) ?? [out_features, in_features];
    return { ...one, out_features: rows, in_features: columns };
  });
}

const weights = (shapes: readonly LinearShape[]) =>
  shapes.reduce((sum, shape) => sum + shape.count * shape.out_features * shape.in_features, 0);
const biases = (shapes: readonly LinearShape[]) =>
  shapes.reduce((sum, shape) => sum + (shape.bias ? shape.count * shape.out_features : 0), 0);

/** The model with narrower blocks, whose weights are floats. */
export function narrowed(model: ModelFacts, after: Widths): ModelFacts {
  const linear_shapes = shapesAfter(model, after);
  const linear_parameters = weights(linear_shapes);
  const biasesGone = biases(model.linear_shapes) - biases(linear_shapes);
  const gone = model.linear_parameters - linear_parameters + biasesGone;
  const parameters = model.parameters - gone;
  const columns = linear_shapes.map(({ in_features }) => in_features);
  const { block_parameters } = model;
  const narrower: ModelFacts = {
    ...model,
    parameters,
    linear_parameters,
    fp16_bytes: 2 * parameters,
    intermediate_size: after.channels,
    heads: after.heads,
    kv_heads: after.kv_heads,
    head_dim: headDim(model),
    linear_shapes,
    ...(model.block_matrices === undefined ? {} : { block_matrices: matricesAfter(model, after) }),
    group_sizes: GROUP_SIZES.filter((size) => columns.every((width) => width % size === 0)),
    ...(typeof block_parameters === "number" ? { block_parameters: block_parameters - gone } : {}),
  };
  const bytes = weightBytes(model);
  return withWeightBytes(narrower, {
    linear: 2 * linear_parameters,
    rest: bytes.rest - 2 * biasesGone,
  });
}
