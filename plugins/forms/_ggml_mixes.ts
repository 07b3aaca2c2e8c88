/**
 * Which kind of block llama.cpp's quantizer gives each matrix, by its mixes: sizes are told beforehand by it.
 * Read from what llama.cpp 0.3.36's bindings write of models of 17 and 24 layers; a test compares.
 */
import type { Facts } from "../../core/mod.ts";
import { type BlockKind, blockWeights, isBlockKind } from "./ggml.ts";

/** The matrices of a block of the architectures that GGUF files are written of; `qkv`: three in one. */
export type Role = "q" | "k" | "v" | "qkv" | "o" | "gate" | "up" | "down";

/** Architectures whose blocks have other matrices than q, k, v, o, gate, up and down, in their order. */
const OTHER_BLOCKS: Readonly<Record<string, readonly Role[]>> = {
  BloomForCausalLM: ["qkv", "o", "up", "down"],
  GPT2LMHeadModel: ["qkv", "o", "up", "down"],
  GPTBigCodeForCausalLM: ["qkv", "o", "up", "down"],
  GPTNeoXForCausalLM: ["qkv", "o", "up", "down"],
  FalconForCausalLM: ["qkv", "o", "up", "down"],
  Phi3ForCausalLM: ["o", "qkv", "up", "down"],
  GlmForCausalLM: ["q", "k", "v", "o", "up", "down"],
  Glm4ForCausalLM: ["q", "k", "v", "o", "up", "down"],
  ApertusForCausalLM: ["q", "k", "v", "o", "up", "down"],
  Jais2ForCausalLM: ["q", "k", "v", "o", "up", "down"],
  ArceeForCausalLM: ["q", "k", "v", "o", "up", "down"],
  NemotronForCausalLM: ["q", "k", "v", "o", "up", "down"],
  PhiForCausalLM: ["q", "k", "v", "o", "up", "down"],
  Starcoder2ForCausalLM: ["q", "k", "v", "o", "up", "down"],
};
const ATTENTION: readonly Role[] = ["q", "k", "v", "o"];
const USUAL_BLOCK: readonly Role[] = [...ATTENTION, "gate", "up", "down"];
/** Of whose mixtures each block has an expert that every token is sent to, besides. */
const SHARED_EXPERT = ["Qwen2MoeForCausalLM", "HunYuanMoEV1ForCausalLM"];
/** Whose `up` holds the gate too. */
const GATED_UP = ["Phi3ForCausalLM", "GlmForCausalLM", "Glm4ForCausalLM"];

/** Layers by their place among n. `spread`: the first and last eighth, every third between. */
type Place = "first_two" | "first_four" | "first_eighth" | "first_sixteenth" | "middle" | "spread";

/** The kind of a role's matrices; those at a place have another. */
interface Given {
  readonly kind?: BlockKind;
  readonly at?: readonly [Place, BlockKind];
}

/** A mix of llama-quantize: its kind, and what differs from it. */
interface Mix {
  readonly kind: BlockKind;
  readonly roles?: Partial<Record<Role, Given>>;
  /** Without an importance matrix, and with one; these go before `roles`. */
  readonly unweighted?: Partial<Record<Role, Given>>;
  readonly weighted?: Partial<Record<Role, Given>>;
  /** With eight experts, as Mixtral has; these go before all others. Its keys and values are Q8_0. */
  readonly eight?: Partial<Record<Role, Given>>;
  /** Of values that four heads of queries or more share. */
  readonly shared?: BlockKind;
  /** Of the head; absent: Q6_K. */
  readonly head?: BlockKind;
  /** Of an embedding that is not the head; absent: the mix's own. */
  readonly embedding?: BlockKind;
}

const spread = (kind: BlockKind): Given => ({ at: ["spread", kind] });
const firstEighth = (kind: BlockKind): Given => ({ at: ["first_eighth", kind] });

/** Beside eight experts the output of attention takes little. */
const RAISED = { o: { kind: "Q5_K" } } as const;
const EIGHT_EXPERTS = 8;

const MIXES = {
  Q2_K_S: { kind: "Q2_K", roles: { down: firstEighth("Q4_K") }, shared: "Q4_K" },
  Q2_K: {
    eight: RAISED,
    kind: "Q2_K",
    roles: { v: { kind: "Q3_K" }, o: { kind: "Q3_K" }, down: { kind: "Q3_K" } },
    shared: "Q4_K",
  },
  IQ3_XXS: {
    eight: RAISED,
    kind: "IQ3_XXS",
    roles: { q: { kind: "IQ2_S" }, k: { kind: "IQ2_S" }, o: { kind: "IQ3_S" } },
    unweighted: { v: { kind: "IQ3_S" }, down: { kind: "Q3_K", at: ["first_eighth", "Q4_K"] } },
    shared: "Q4_K",
    head: "Q5_K",
    embedding: "IQ3_S",
  },
  IQ3_XS: {
    eight: RAISED,
    kind: "IQ3_S",
    roles: {
      q: { kind: "IQ3_XXS" },
      k: { kind: "IQ3_XXS" },
      gate: { at: ["middle", "IQ3_XXS"] },
      up: { at: ["middle", "IQ3_XXS"] },
    },
    shared: "Q4_K",
  },
  IQ3_S: { kind: "IQ3_S", shared: "Q4_K", eight: RAISED },
  IQ3_M: {
    eight: { ...RAISED, down: spread("Q4_K") },
    kind: "IQ3_S",
    roles: { v: { kind: "Q4_K" }, o: { kind: "Q4_K" }, down: firstEighth("Q4_K") },
  },
  Q3_K_S: { kind: "Q3_K", eight: RAISED },
  Q3_K_M: {
    eight: RAISED,
    kind: "Q3_K",
    roles: {
      v: { kind: "Q4_K", at: ["first_two", "Q5_K"] },
      o: { kind: "Q4_K" },
      down: { kind: "Q4_K", at: ["first_sixteenth", "Q5_K"] },
    },
  },
  Q3_K_L: {
    eight: { o: { kind: "Q3_K" } },
    kind: "Q3_K",
    roles: { v: { kind: "Q5_K" }, o: { kind: "Q5_K" }, down: { kind: "Q5_K" } },
  },
  IQ4_XS: {
    kind: "IQ4_XS",
    unweighted: { down: firstEighth("Q5_K") },
    shared: "Q5_K",
    eight: RAISED,
  },
  IQ4_NL: {
    kind: "IQ4_NL",
    unweighted: { down: firstEighth("Q5_K") },
    shared: "Q5_K",
    eight: RAISED,
  },
  Q4_0: { kind: "Q4_0", weighted: { down: firstEighth("Q4_1") } },
  Q4_K_S: {
    kind: "Q4_K",
    roles: { v: { at: ["first_four", "Q5_K"] }, down: firstEighth("Q5_K") },
    eight: RAISED,
  },
  Q4_K_M: { kind: "Q4_K", roles: { v: spread("Q6_K"), down: spread("Q6_K") }, eight: RAISED },
  Q5_0: { kind: "Q5_0", weighted: { down: firstEighth("Q5_1") } },
  Q5_K_S: { kind: "Q5_K" },
  Q5_K_M: { kind: "Q5_K", roles: { v: spread("Q6_K"), down: spread("Q6_K") } },
  Q6_K: { kind: "Q6_K" },
  Q8_0: { kind: "Q8_0", head: "Q8_0" },
} as const satisfies Record<string, Mix>;

export type MixName = keyof typeof MIXES;

/** Their names, the smallest first. */
export const MIX_NAMES = Object.keys(MIXES) as readonly MixName[];

/** Kinds that the quantizer makes with an importance matrix alone. */
const WEIGHTED_ONLY: readonly BlockKind[] = ["IQ2_S", "IQ3_XXS"];

/** What it takes where a row is not whole blocks of 256. */
const INSTEAD: Partial<Record<BlockKind, BlockKind>> = {
  Q2_K: "Q4_0",
  Q3_K: "Q4_0",
  Q4_K: "Q5_0",
  Q5_K: "Q5_1",
  Q6_K: "Q8_0",
  IQ2_S: "IQ4_NL",
  IQ3_XXS: "IQ4_NL",
  IQ3_S: "IQ4_NL",
  IQ4_XS: "IQ4_NL",
};

/** llama.cpp takes models of so many layers for ones of 70 billion weights, with more for values. */
const LARGE_LAYERS = 80;

function isAt(place: Place, layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  const last = Math.floor(7 * layers / 8);
  switch (place) {
    case "first_two":
      return layer < 2;
    case "first_four":
      return layer < 4;
    case "first_eighth":
      return layer < eighth;
    case "first_sixteenth":
      return layer < Math.floor(layers / 16);
    case "middle":
      return layer >= eighth && layer < last;
    case "spread":
      return layer < eighth || layer >= last || (layer - eighth) % 3 === 2;
  }
}

/** The kind, or what stands in where rows of so many weights are not whole blocks of it. */
function fitting(kind: BlockKind, columns: number): BlockKind {
  return columns % blockWeights(kind) === 0 ? kind : INSTEAD[kind] ?? kind;
}

/** Matrices of a block that a file holds as one tensor: one, or that of each expert. */
interface BlockTensor {
  readonly role: Role;
  readonly rows: number;
  readonly columns: number;
  readonly matrices: number;
}

/** How many experts a block has, and how wide they are; none: null. */
function expertsOf({ model }: Facts): { count: number; wide: number } | null {
  const { expert_parameters = 0, hidden_size: hidden, layers, linear_shapes } = model;
  if (expert_parameters === 0) return null;
  for (const { out_features, in_features: wide, count } of linear_shapes) {
    // A third of them turn back to the model's width; others of their shape may be among them.
    const matrices = expert_parameters / (3 * hidden * wide);
    if (
      out_features === hidden && matrices <= count && matrices > layers && matrices % layers === 0
    ) {
      return { count: matrices / layers, wide };
    }
  }
  return null;
}

function gated(hidden: number, wide: number, matrices = 1): BlockTensor[] {
  return [
    { role: "gate", rows: wide, columns: hidden, matrices },
    { role: "up", rows: wide, columns: hidden, matrices },
    { role: "down", rows: hidden, columns: wide, matrices },
  ];
}

/** The tensors of a block in the model's order; of a mixture its experts', then the shared one's. */
export function blockTensors(facts: Facts): BlockTensor[] {
  const { model } = facts;
  const { hidden_size: hidden, intermediate_size: wide, heads, kv_heads, architecture } = model;
  const width = model.head_dim ?? hidden / heads;
  const shapes: Record<Role, readonly [number, number]> = {
    q: [heads * width, hidden],
    k: [kv_heads * width, hidden],
    v: [kv_heads * width, hidden],
    qkv: [(heads + 2 * kv_heads) * width, hidden],
    o: [hidden, heads * width],
    gate: [wide, hidden],
    up: [GATED_UP.includes(architecture) ? 2 * wide : wide, hidden],
    down: [hidden, wide],
  };
  const tensor = (role: Role): BlockTensor => {
    const [rows, columns] = shapes[role];
    return { role, rows, columns, matrices: 1 };
  };
  const experts = expertsOf(facts);
  if (experts === null) return (OTHER_BLOCKS[architecture] ?? USUAL_BLOCK).map(tensor);
  const own = [...ATTENTION.map(tensor), ...gated(hidden, experts.wide, experts.count)];
  if (!SHARED_EXPERT.includes(architecture)) return own;
  const left = model.linear_parameters / model.layers - weightsOf(own);
  return [...own, ...gated(hidden, left / (3 * hidden))];
}

/** Weights of a block's tensors. */
export function weightsOf(tensors: readonly BlockTensor[]): number {
  return tensors.reduce((sum, { rows, columns, matrices }) => sum + rows * columns * matrices, 0);
}

/** A tensor of linear matrices as it will be stored. */
interface Quantized {
  readonly role: Role;
  readonly kind: BlockKind;
  /** Of each of its matrices. */
  readonly weights: number;
  readonly matrices: number;
}

/** Layers of an assignment, such as `7` or `0-9`, as the Python half reads them. */
const RANGE = /^(\d{1,6})(?:-(\d{1,6}))?$/;

/** What an assignment gives each linear layer of a model without experts, in the model's order; null: it
 * does not give each one. */
export function assignedKinds(assignment: string, facts: Facts): Quantized[] | null {
  const tensors = blockTensors(facts);
  const count = tensors.length * facts.model.layers;
  const kinds = new Map<number, BlockKind>();
  for (const part of assignment.split(" ")) {
    const [kind, places = ""] = part.split("=");
    if (!isBlockKind(kind!)) return null;
    for (const place of places.split(",")) {
      const [, from, to = from] = RANGE.exec(place) ?? [];
      const [first, last] = [Number(from), Number(to)];
      if (!(first <= last && last < count)) return null;
      for (let at = first; at <= last; at++) {
        if (kinds.has(at)) return null;
        kinds.set(at, kind);
      }
    }
  }
  if (kinds.size !== count) return null;
  return Array.from({ length: count }, (_, at) => {
    const { role, rows, columns } = tensors[at % tensors.length]!;
    return { role, kind: fitting(kinds.get(at)!, columns), weights: rows * columns, matrices: 1 };
  });
}

/** The kind of every tensor of linear matrices by a mix, with its weights. */
export function linearKinds(
  name: MixName,
  importance: boolean,
  facts: Facts,
): Quantized[] {
  const mix: Mix = MIXES[name];
  const { layers, heads, kv_heads } = facts.model;
  const first = importance ? mix.weighted : mix.unweighted;
  const eight = expertsOf(facts)?.count === EIGHT_EXPERTS;
  const kindOf = (own: Role, layer: number): BlockKind => {
    const role = own === "qkv" ? "v" : own; // the quantizer takes the three in one for values
    if (eight && (role === "k" || role === "v")) return "Q8_0";
    const given = (eight ? mix.eight?.[role] : undefined) ?? first?.[role] ?? mix.roles?.[role] ??
      {};
    const shared = role === "v" && heads / kv_heads >= 4 ? mix.shared : undefined;
    const placed = given.at !== undefined && isAt(given.at[0], layer, layers) ? given.at[1] : null;
    const kind = shared ?? placed ?? given.kind ?? mix.kind;
    const large = role === "v" && layers === LARGE_LAYERS && (kind === "Q3_K" || kind === "Q4_K");
    return large ? "Q5_K" : kind;
  };
  return blockTensors(facts).flatMap(({ role, rows, columns, matrices }) =>
    Array.from({ length: layers }, (_, layer) => ({
      ...{ role, weights: rows * columns, matrices },
      kind: fitting(kindOf(role, layer), columns),
    }))
  );
}

/** Whether the quantizer refuses to make these without an importance matrix. */
export function needsImportance(name: MixName, kinds: readonly Quantized[]): boolean {
  return kinds.some(({ kind }) =>
    WEIGHTED_ONLY.includes(kind) || (name === "Q2_K_S" && kind === "Q2_K")
  );
}

/** The kind that a mix gives the head, or an embedding that is one; of another one `embeddingKind`. */
export function headKind(name: MixName, { model }: Facts): BlockKind {
  const mix: Mix = MIXES[name];
  if (model.hidden_size % blockWeights(mix.kind) !== 0) return "Q8_0";
  return fitting(mix.head ?? "Q6_K", model.hidden_size);
}

export function embeddingKind(name: MixName, { model }: Facts): BlockKind {
  const mix: Mix = MIXES[name];
  return fitting(mix.embedding ?? mix.kind, model.hidden_size);
}
