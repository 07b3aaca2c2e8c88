/** The matrices of a model as llama.cpp's quantizer tells them apart: what each is for, in which blocks. */
import type { Facts } from "../../core/mod.ts";

/** What a matrix is for; `qkv`: three in one; `kept`: it stays floats; `other`: what the quantizer has no
 * rule for. */
export type Role = "q" | "k" | "v" | "qkv" | "o" | "gate" | "up" | "down" | "kept" | "other";

/** Names inside a block by their endings, the first that fits. `up` may hold the gate too. */
const NAMED: readonly (readonly [RegExp, Role])[] = [
  [
    /(?:per_layer_model_projection|altup_(?:unembed_)?projections\.\d+|laurel\.linear_\w+)$/,
    "kept",
  ],
  [/attn\.gate_proj$/, "other"], // of what attention gives, not of an MLP
  [/(?:qkv_proj|in_proj_qkv|query_key_value|c_attn|Wqkv)$/, "qkv"],
  [/q_proj$/, "q"],
  [/(?:k_proj|indexer\.wk)$/, "k"],
  [/(?:v_proj|kv_b_proj)$/, "v"],
  [/(?:o_proj|attn\.out_proj|attn\.c_proj|(?:attn|attention)\.dense)$/, "o"],
  [/(?:gate_up_proj|up_proj|input_linear|w3|fc1|c_fc|dense_h_to_4h)$/, "up"],
  [/(?:gate_proj|w1)$/, "gate"],
  [/(?:down_proj|output_linear|w2|fc2|c_proj|dense_4h_to_h)$/, "down"],
];

/** Matrices of one name: of a mixture's experts each block has as many, which lie in one tensor. */
export interface BlockTensor {
  readonly role: Role;
  readonly rows: number;
  readonly columns: number;
  readonly matrices: number;
  /** Whether the checkpoint has them in one tensor too. */
  readonly stacked: boolean;
  /** The numbers of the blocks that have it. */
  readonly blocks: readonly number[];
}

/** Whose file has this matrix turned, in two: it is no blocks there. */
const TURNED: Readonly<Record<string, RegExp>> = {
  KimiLinearForCausalLM: /kv_b_proj$/,
  GlmMoeDsaForCausalLM: /kv_b_proj$/,
  DeepseekV32ForCausalLM: /kv_b_proj$/,
  HYV4ForCausalLM: /kv_b_proj$/,
};

function roleOf(name: string, architecture: string): Role {
  if (TURNED[architecture]?.test(name)) return "kept";
  return NAMED.find(([ending]) => ending.test(name))?.[1] ?? "other";
}

/**
 * Whether columns of a matrix stand in another order in the file, a head of values at a time: where several
 * values share a key, as in larger models of Qwen3.5.
 */
export function movesColumns({ model }: Facts): boolean {
  if (!/^Qwen3_5/.test(model.architecture)) return false;
  const rowsOf = (name: RegExp) =>
    model.block_matrices?.find((one) => name.test(one.name))?.out_features ?? 0;
  // Queries, keys and values of as many heads of one width are three times the values.
  return rowsOf(/in_proj_qkv$/) !== 3 * rowsOf(/in_proj_z$/);
}

/** The tensors of the blocks in a block's order; null: the facts are an old record, which names none. */
export function blockTensors({ model }: Facts): BlockTensor[] | null {
  return model.block_matrices?.map(
    ({ name, out_features, in_features: columns, blocks, experts = 1, stacked = false }) => ({
      ...{
        role: roleOf(name, model.architecture),
        rows: out_features,
        columns,
        matrices: experts,
        stacked,
      },
      blocks: blocks.flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, at) => first + at)
      ),
    }),
  ) ?? null;
}

/** Weights of these tensors. */
export function weightsOf(tensors: readonly BlockTensor[]): number {
  return tensors.reduce(
    (sum, { rows, columns, matrices, blocks }) => sum + rows * columns * matrices * blocks.length,
    0,
  );
}

/** How many experts the blocks of a mixture have; 1: it is none. */
export function expertCount(tensors: readonly BlockTensor[]): number {
  return Math.max(1, ...tensors.map(({ matrices }) => matrices));
}
