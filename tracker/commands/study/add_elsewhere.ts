import type { Command } from "commander";

type With = (command: Command) => Command;

/** `pare add`: checkpoints that were made elsewhere, in a study that exists. */
export function addAddCommand(program: Command, withShowOptions: With): void {
  withShowOptions(
    program.command("add").description("try checkpoints that were made elsewhere in a study")
      .argument("<study>", "its id")
      .argument("<checkpoint...>", "of its model: GGUF files, directories, names on the hub")
      .option("--output <dir>", "where report and figures go"),
  ).action(async (study: string, checkpoints: string[], options) =>
    (await import("./add.ts")).addCommand(study, checkpoints, options)
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
