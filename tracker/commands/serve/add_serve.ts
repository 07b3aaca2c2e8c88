import { type Command, Option } from "commander";
import { collect, withStore } from "../input/command_options.ts";

/** Adds `pare serve`; its work is imported when it runs. */
export function addServeCommands(program: Command): void {
  withStore(
    program.command("serve").description("a model or trial as an OpenAI-compatible server")
      .argument("<model|trial>", "as --model takes it, or a trial such as STUDY/t03")
      .argument("[words...]", "after --: what vllm is told besides, such as -- --dtype bfloat16")
      .option(
        "--with <runtime>",
        "transformers, openvino, llama.cpp or vllm; default: the best here",
      )
      .option("--port <n>", "exactly this port; default: the first free one from 8000 on")
      .option("--host <address>", "where it listens", "127.0.0.1")
      .option("--max-model-len <tokens>", "of a prompt and its answer; default: the model's own")
      .addOption(
        new Option("--retry [what]", "try remedies by itself: those that keep answers, or all")
          .choices(["same", "rounded"]),
      )
      .option("--wait <time>", "for its health", "10m")
      .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect),
  ).action(async (name: string, words: string[], options) =>
    (await import("./serve.ts")).serveCommand(name, words, options)
  );

  program.command("diagnose").description("what a server's log shows, and what to do about it")
    .argument("[log|name]", "a file, or a name of the list; default: all questions")
    .action(async (of: string | undefined) => (await import("./diagnose.ts")).diagnoseCommand(of));
}
