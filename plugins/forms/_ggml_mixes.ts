/**
 * Which kind of block llama.cpp's quantizer gives each matrix, by its mixes: sizes are told beforehand by it.
 * Read from what llama.cpp 0.3.36's bindings write of models of 17 and 24 layers; a test compares.
 */
import type { Facts } from "../../core/mod.ts";
import { type BlockTensor, blockTensors, expertCount, type Role } from "./_ggml_blocks.ts";
import { type BlockKind, blockWeights, isBlockKind } from "./ggml.ts";

/** Layers by their place among n. `spread`: the first and last eighth, every third between. */
type Place = "first_two" | "first_four" | "first_eighth" | "first_sixteenth" | "middle" | "spread";

/** The kind of a role's matrices; those at the first of these places that is theirs have another. */
interface Given {
  readonly kind?: BlockKind;
  readonly at?: readonly (readonly [Place, BlockKind])[];
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
  /** Of Falcon; these go before all others. */
  readonly falcon?: Partial<Record<Role, Given>>;
  /** Of values that four heads of queries or more share. */
  readonly shared?: BlockKind;
  /** Of the head; absent: Q6_K. */
  readonly head?: BlockKind;
  /** Of an embedding that is not the head; absent: the mix's own. */
  readonly embedding?: BlockKind;
}

const spread = (kind: BlockKind): Given => ({ at: [["spread", kind]] });
const firstEighth = (kind: BlockKind): Given => ({ at: [["first_eighth", kind]] });

/** Beside eight experts the output of attention takes little. */
const RAISED = { o: { kind: "Q5_K" } } as const;
const EIGHT_EXPERTS = 8;
/** Whose output of attention has the mix's own kind, but of one mix. */
const FALCON = "FalconForCausalLM";
/** Whose files give every block heads, those too that hold a state in their place. */
const SAME_HEADS = ["Qwen3NextForCausalLM"];

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
    unweighted: { v: { kind: "IQ3_S" }, down: { kind: "Q3_K", at: [["first_eighth", "Q4_K"]] } },
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
      gate: { at: [["middle", "IQ3_XXS"]] },
      up: { at: [["middle", "IQ3_XXS"]] },
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
      v: { kind: "Q4_K", at: [["first_two", "Q5_K"]] },
      o: { kind: "Q4_K" },
      down: { kind: "Q4_K", at: [["first_sixteenth", "Q5_K"]] },
    },
    falcon: { down: { at: [["first_sixteenth", "Q5_K"], ["spread", "Q4_K"]] } },
  },
  Q3_K_L: {
    eight: { o: { kind: "Q3_K" } },
    kind: "Q3_K",
    roles: { v: { kind: "Q5_K" }, o: { kind: "Q5_K" }, down: { kind: "Q5_K" } },
    falcon: { o: { kind: "Q4_K" }, down: { kind: "Q4_K" } },
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
    roles: { v: { at: [["first_four", "Q5_K"]] }, down: firstEighth("Q5_K") },
    eight: RAISED,
    falcon: { down: {} },
  },
  Q4_K_M: {
    kind: "Q4_K",
    roles: { v: spread("Q6_K"), down: spread("Q6_K") },
    eight: RAISED,
    falcon: { down: { at: [["first_sixteenth", "Q6_K"], ["spread", "Q5_K"]] } },
  },
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

/** A tensor of linear matrices as it will be stored. */
interface Quantized {
  readonly role: Role;
  readonly kind: BlockKind;
  /** Of each of its matrices. */
  readonly weights: number;
  readonly matrices: number;
  readonly stacked: boolean;
}

/** Layers of an assignment, such as `7` or `0-9`, as the Python half reads them. */
const RANGE = /^(\d{1,6})(?:-(\d{1,6}))?$/;

/** What an assignment gives each linear layer of a model without experts, in the model's order; null: it
 * does not give each one. */
export function assignedKinds(assignment: string, facts: Facts): Quantized[] | null {
  const order = inOrder(blockTensors(facts) ?? []);
  const kinds = new Map<number, BlockKind>();
  for (const part of assignment.split(" ")) {
    const [kind, places = ""] = part.split("=");
    if (!isBlockKind(kind!)) return null;
    for (const place of places.split(",")) {
      const [, from, to = from] = RANGE.exec(place) ?? [];
      const [first, last] = [Number(from), Number(to)];
      if (!(first <= last && last < order.length)) return null;
      for (let at = first; at <= last; at++) {
        if (kinds.has(at)) return null;
        kinds.set(at, kind);
      }
    }
  }
  if (kinds.size !== order.length) return null;
  return order.map(({ role, rows, columns }, at) => (
    {
      role,
      kind: role === "kept" ? "F16" as const : fitting(kinds.get(at)!, columns),
      weights: rows * columns,
      matrices: 1,
      stacked: false,
    }
  ));
}

/** The tensors block by block. */
function inOrder(tensors: readonly BlockTensor[]): BlockTensor[] {
  const last = Math.max(...tensors.flatMap(({ blocks }) => blocks));
  return Array.from({ length: last + 1 }, (_, block) => (
    tensors.filter(({ blocks }) => blocks.includes(block))
  )).flat();
}

/** The kind of every tensor of linear matrices by a mix, with its weights. */
export function linearKinds(
  name: MixName,
  importance: boolean,
  facts: Facts,
): Quantized[] {
  const mix: Mix = MIXES[name];
  const { layers, heads, kv_heads, architecture } = facts.model;
  const tensors = blockTensors(facts) ?? [asOne(facts)];
  const first = importance ? mix.weighted : mix.unweighted;
  const experts = expertCount(tensors);
  const eight = experts === EIGHT_EXPERTS;
  // Matrices are counted where there are some, of a mixture values alone; of a first block without heads none are shared.
  const valued = blocksOf(tensors, ["v", "qkv"]);
  const shares = (valued[0] === 0 || SAME_HEADS.includes(architecture)) && heads / kv_heads >= 4;
  const given = (role: Role): Given => {
    if (architecture === FALCON && (role === "o" || mix.falcon?.[role] !== undefined)) {
      return mix.falcon?.[role] ?? {};
    }
    return (eight ? mix.eight?.[role] : undefined) ?? first?.[role] ?? mix.roles?.[role] ?? {};
  };
  const kindOf = (own: Role, block: number): BlockKind => {
    const role = own === "qkv" ? "v" : own; // the quantizer takes the three in one for values
    if (eight && (role === "k" || role === "v")) return "Q8_0";
    const { kind: usual, at = [] } = given(role);
    const shared = role === "v" && shares ? mix.shared : undefined;
    const [place, count] = role === "v"
      ? [valued.indexOf(block), valued.length]
      : [experts > 1 ? block : blocksOf(tensors, [role]).indexOf(block), layers];
    const placed = at.find(([one]) => isAt(one, place, count))?.[1];
    const kind = shared ?? placed ?? usual ?? mix.kind;
    const large = role === "v" && layers === LARGE_LAYERS && (kind === "Q3_K" || kind === "Q4_K");
    return large ? "Q5_K" : kind;
  };
  return tensors.flatMap(({ role, rows, columns, matrices, stacked, blocks }) =>
    blocks.map((block) => ({
      ...{ role, weights: rows * columns, matrices, stacked },
      kind: role === "kept" ? "F16" as const : fitting(kindOf(role, block), columns),
    }))
  );
}

/** All linear weights as one matrix: of an old record, which names none. */
function asOne({ model: { linear_parameters, hidden_size: columns } }: Facts): BlockTensor {
  return {
    ...{ role: "other", rows: linear_parameters / columns, columns, matrices: 1, stacked: false },
    blocks: [0],
  };
}

/** The blocks that have a matrix of one of these roles, in their order. */
function blocksOf(tensors: readonly BlockTensor[], roles: readonly Role[]): number[] {
  const found = tensors.filter(({ role }) => roles.includes(role)).flatMap(({ blocks }) => blocks);
  return [...new Set(found)].sort((one, other) => one - other);
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
  if (model.architecture === FALCON) return "Q8_0";
  if (model.hidden_size % blockWeights(mix.kind) !== 0) return "Q8_0";
  return fitting(mix.head ?? "Q6_K", model.hidden_size);
}

export function embeddingKind(name: MixName, { model }: Facts): BlockKind {
  const mix: Mix = MIXES[name];
  return fitting(mix.embedding ?? mix.kind, model.hidden_size);
}
