/** Recipes that may be the fastest that lose little: linear layers and output head rounded. */
import type { ActionInput } from "../../../core/mod.ts";

export interface DeployedRecipe {
  readonly name: string;
  readonly actions: readonly ActionInput[];
  /** Whether llama.cpp's blocks hold it: 32 weights to a scale, floats as inputs. */
  readonly in_gguf: boolean;
}

const GROUP = 32;

const rounding = (method: string, params: ActionInput["params"]): ActionInput => (
  { agent: "quantization", method, params }
);

/** The head reads as many bytes as seven blocks: in eight bits it costs nearly nothing. */
const HEAD = rounding("rtn", { bits: 8, group_size: GROUP, targets: "embedding" });

/** As OpenVINO rounds them. */
const INPUTS = { activation_group_size: 64 };

const grid = (method: string, bits: number) => rounding(method, { bits, group_size: GROUP });

/** Layers of 4 and of 8 bits, those of 8 where the Fisher information says that it matters. */
const mixed = (average_bits: number) =>
  rounding("mixed", { average_bits, layer_bits: "4-8", group_size: GROUP, rounded_by: "gptq" });

export const RECIPES: readonly DeployedRecipe[] = [
  { name: "int8", actions: [rounding("int8", INPUTS)], in_gguf: false },
  { name: "int8 + head", actions: [rounding("int8", INPUTS), HEAD], in_gguf: false },
  { name: "rtn 8 + head", actions: [grid("rtn", 8), HEAD], in_gguf: true },
  { name: "gptq 4 + head", actions: [grid("gptq", 4), HEAD], in_gguf: true },
  { name: "autoround 4 + head", actions: [grid("autoround", 4), HEAD], in_gguf: true },
  { name: "mixed 5 + head", actions: [mixed(5), HEAD], in_gguf: true },
  { name: "mixed 6 + head", actions: [mixed(6), HEAD], in_gguf: true },
];

export const QUICK: readonly DeployedRecipe[] = [RECIPES[2]!];
