import { type Command, Option } from "commander";
import { addParticipantsCommand } from "../participants/add_participants.ts";
import { collect, withStore } from "../input/command_options.ts";

/** Adds `pare serve`; its work is imported when it runs. */
export function addServeCommands(program: Command): void {
  withStore(
    program.command("serve").description("a model or trial as an OpenAI-compatible server")
      .argument("<model|trial>", "as --model takes it, or a trial such as STUDY/t03")
      .argument("[words...]", "after --: what vllm is told besides, such as -- --dtype bfloat16")
      .option(
        "--with <runtime>",
        "transformers, openvino, llama.cpp, ik_llama.cpp or vllm; default: the best here",
      )
      .option("--port <n>", "exactly this port; default: the first free one from 8000 on")
      .option("--host <address>", "where it listens", "127.0.0.1")
      .option("--max-model-len <tokens>", "of a prompt and its answer; default: the model's own")
      .option("--gpus <cards>", "plan vllm for them, such as 2xH100-80, and start it so")
      .option("--container", "with --gpus: in the server's own image, by docker")
      .addOption(
        new Option("--retry [what]", "try remedies by itself: those that keep answers, or all")
          .choices(["same", "rounded"]),
      )
      .option("--wait <time>", "for its health", "10m")
      .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect),
  ).action(async (name: string, words: string[], options) =>
    (await import("./serve.ts")).serveCommand(name, words, options)
  );

  withStore(
    program.command("load").description("load a served model: first token, tokens between, goodput")
      .argument("<url>", "an OpenAI-compatible server, such as http://127.0.0.1:8000")
      .option("--rate <list>", "requests a second, such as 1,2,4, sent on time in any case")
      .option("--concurrency <list>", "requests at a time; default: 1,2,4")
      .addOption(
        new Option("--arrivals <how>", "of a rate").choices(["constant", "poisson"])
          .default("poisson"),
      )
      .option("--requests <n>", "of each load; default: as many as its time has")
      .option("--seconds <n>", "of each load; default: 20")
      .option("--warming <n>", "requests before each load, which count for nothing", "2")
      .option("--prompt-tokens <n>", "words of each prompt", "64")
      .option("--output-tokens <n>", "of each answer", "32")
      .option("--answer-limit <seconds>", "an answer that takes longer has failed", "120")
      .option("--first-token-limit <ms>", "that an answer must keep to, for goodput")
      .option("--between-tokens-limit <ms>", "the same of the mean time between tokens")
      .option("--served-model <name>", "the server's name of the model; default: its only one")
      .option("--against <url>", "a second server, loaded in turn in the same minutes")
      .option("--against-model <name>", "its name of the model")
      .option(
        "--seed <n>",
        "of prompts and arrivals; default: a new one, as a cache has old prompts",
      )
      .option("--output <dir>", "where the figure goes"),
  ).action(async (url: string, options) => (await import("./load.ts")).loadCommand(url, options));

  addParticipantsCommand(program);

  program.command("diagnose").description("what a server's log shows, and what to do about it")
    .argument("[log|name]", "a file, or a name of the list; default: all questions")
    .action(async (of: string | undefined) => (await import("./diagnose.ts")).diagnoseCommand(of));
}
