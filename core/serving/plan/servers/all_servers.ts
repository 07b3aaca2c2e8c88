import type { Server, ServerPlan } from "../schema.ts";
import { llamaCppCommand } from "./llama_cpp.ts";
import { openvinoCommand } from "./openvino.ts";
import type { MakeCommand, Served } from "./served.ts";
import { sglangCommand } from "./sglang.ts";
import { tensorrtCommand } from "./tensorrt_llm.ts";
import { vllmCommand } from "./vllm.ts";

const COMMANDS: Readonly<Record<Server, MakeCommand>> = {
  vllm: vllmCommand,
  sglang: sglangCommand,
  tensorrt_llm: tensorrtCommand,
  "llama.cpp": llamaCppCommand,
  openvino: openvinoCommand,
};

/** The command of each server that is asked for. */
export function serverPlans(
  served: Served,
  servers: readonly Server[],
): Partial<Record<Server, ServerPlan>> {
  return Object.fromEntries(servers.map((server) => [server, COMMANDS[server](served)]));
}
