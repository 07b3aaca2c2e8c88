import type { Command } from "commander";

/** `pare plan`; what it needs is imported when it runs. */
export function addPlanCommand(program: Command): void {
  program.command("plan")
    .description("what it takes to serve a model: cards, cache, context, and each server's command")
    .argument(
      "<model>",
      "a folder, a config.json, a trial, or a name on the hub (its config alone)",
    )
    .requiredOption("--gpus <cards>", "such as 8xH100-80, 2x4090 or H200")
    .option("--context <tokens>", "of a sequence; default: the longest that fits")
    .option("--sequences <n>", "held at once at that context; default: 1")
    .option("--utilization <share>", "of a card that the server may take; default: 0.92")
    .option("--kv-cache-dtype <type>", "auto, fp8, nvfp4, …; default: as the model asks")
    .option("--tensor-parallel <n>", "exactly so many; default: what fits")
    .option("--pipeline-parallel <n>", "exactly so many stages; default: what fits")
    .option("--batched-tokens <n>", "read in one step; default: vLLM's for the card")
    .option("--server <names>", "vllm,sglang,tensorrt_llm,llama.cpp,openvino; default: all")
    .option("--measured <load>", "correct speeds by a load of `pare load` on these very cards")
    .option("--port <n>", "of the commands; default: 8000")
    .option("--container", "print each command by docker too")
    .option("--table", "memory of a card against the context, for each plan")
    .option("--figure <file.svg>", "draw what a card holds in each plan")
    .option("--store <dir>", "where a trial is looked up; default: store/ in PARE_HOME")
    .option("--json", "as JSON; `pare schema json` describes it")
    .action(async (model: string, options) =>
      (await import("./plan.ts")).planCommand(model, options)
    );
}
