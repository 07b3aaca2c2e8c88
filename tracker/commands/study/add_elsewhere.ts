import type { Command } from "commander";
import { withEngine } from "../input/command_options.ts";

type With = (command: Command) => Command;

/** `pare add`: checkpoints that were made elsewhere, in a study that exists. */
export function addAddCommand(program: Command, withShowOptions: With): void {
  withEngine(withShowOptions(
    program.command("add").description("try checkpoints that were made elsewhere in a study")
      .argument("<study>", "its id")
      .argument("<checkpoint...>", "of its model: GGUF files, directories, names on the hub")
      .option("--output <dir>", "where report and figures go"),
  )).action(async (study: string, checkpoints: string[], options) =>
    (await import("./add.ts")).addCommand(study, checkpoints, options)
  );
}

/** `pare caches`: a runtime's settings of the cache beside each other. */
export function addCachesCommand(program: Command, withShowOptions: With): void {
  const collect = (one: string, all: string[] = []) => [...all, one];
  withShowOptions(
    program.command("caches")
      .description("speed and bytes of a runtime's KV cache by setting and length of the prompt")
      .argument("[study|trial|model]", "a study's original or a trial; else a model")
      .option("--context <lengths>", "tokens of a prompt; default: 1k,2k,4k as the model reads")
      .option(
        "--setting <name|knob=value,…>",
        "of the runtime; repeated, or each of knob=a/b; default: all it names",
        collect,
      )
      .option("--runtime <name>", "whose cache can be set; default: the first that there is")
      .option("--new-tokens <n>", "generated after each prompt; default: 64")
      .option("--scores", "score what each setting generates on the study's benchmarks, too")
      .option("--dataset <name>", "of a model: benchmarks that it is scored on")
      .option("--samples <n>", "of each benchmark; default: those of the first rung")
      .option("--passes <n>", "pairs of prompts, in turn with the full cache; default: 3"),
  ).action(async (name: string | undefined, options) =>
    (await import("../caches/caches.ts")).cachesCommand(name, options)
  );
}

/** `pare kl`: two models beside each other, without a study. */
export function addKlCommand(program: Command, withShowOptions: With): void {
  withShowOptions(
    program.command("kl").description("how far a model's predictions are from another's")
      .argument("<base>", "a directory, a GGUF file, a name on the hub, or a trial")
      .argument("<other>", "one more that reads the same tokens")
      .option("--text <file>", ".jsonl of {text}; default: plain English that ships")
      .option("--windows <n>", "of the text; default: 16")
      .option("--tokens <n>", "of each window; default: 256"),
  ).action(async (base: string, other: string, options) =>
    (await import("./kl.ts")).klCommand(base, other, options)
  );
}
