/** Recipes that may be the fastest that lose little, for each runtime those that are at home in it. */
import type { ActionInput } from "../../../core/mod.ts";

export const RUNTIMES = ["openvino", "llama.cpp"] as const;
export type DeployedRuntime = typeof RUNTIMES[number];

export interface DeployedRecipe {
  readonly name: string;
  readonly actions: readonly ActionInput[];
  /** The study that it is a trial of. llama.cpp's blocks hold 32 weights to a scale, and floats as inputs. */
  readonly runtime: DeployedRuntime;
}

const GROUP = 32;

const rounding = (method: string, params: ActionInput["params"]): ActionInput => (
  { agent: "quantization", method, params }
);

/** The head reads as many bytes as seven blocks: in eight bits it costs nearly nothing. */
const HEAD = rounding("rtn", { bits: 8, group_size: GROUP, targets: "embedding" });

/** As OpenVINO rounds them. */
const INPUTS = { activation_group_size: 64 };

/** Four bits with a scale and a least value a group. */
const GPTQ = rounding("gptq", { bits: 4, group_size: GROUP, symmetric: false });

const blocks = (block_mix: string, params: ActionInput["params"] = {}) => [
  rounding("kquant", { block_mix, ...params }),
];

/** Kinds that the Fisher information chooses at the bytes of the mix. */
const FISHER = { kinds_by: "fisher" };

/** Integers by GPTQ's columns. */
const COLUMNS = { rounded_by: "gptq" };

/** Embedding and head, which are one here, in blocks that are laid out anew for the processor; some of
 * what that saves goes to the layers that matter most. */
const SMALL_HEAD = { embedding_blocks: "IQ4_NL", eight_bit_share: 0.1 };

export const RECIPES: readonly DeployedRecipe[] = [
  { name: "int8 + head", actions: [rounding("int8", INPUTS), HEAD], runtime: "openvino" },
  { name: "gptq 4 + head", actions: [GPTQ, HEAD], runtime: "llama.cpp" },
  { name: "IQ4_NL by gptq", actions: blocks("IQ4_NL", COLUMNS), runtime: "llama.cpp" },
  {
    name: "IQ4_NL, a tenth in 8 bits, 4-bit head",
    actions: blocks("IQ4_NL", { ...COLUMNS, ...SMALL_HEAD }),
    runtime: "llama.cpp",
  },
  { name: "Q5_K_M by fisher", actions: blocks("Q5_K_M", FISHER), runtime: "llama.cpp" },
  { name: "Q6_K", actions: blocks("Q6_K"), runtime: "llama.cpp" },
];

const EIGHT = rounding("rtn", { bits: 8, group_size: GROUP });

export const QUICK: readonly DeployedRecipe[] = [
  { name: "rtn 8 + head", actions: [EIGHT, HEAD], runtime: "openvino" },
  { name: "rtn 8 + head", actions: [EIGHT, HEAD], runtime: "llama.cpp" },
  { name: "Q8_0", actions: blocks("Q8_0"), runtime: "llama.cpp" },
];
