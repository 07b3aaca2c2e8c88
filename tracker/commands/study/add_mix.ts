import type { Command } from "commander";

/** `pare sensitivity` and `pare mix`: what formats cost layers, and the best mix of them. */
export function addLayerCommands(
  program: Command,
  withStore: (command: Command) => Command,
  collect: (value: string, before: string[] | undefined) => string[],
): void {
  withStore(
    program.command("sensitivity").description("what each format would cost each layer of a model")
      .argument("[model|study]", "a model, or a study's id; default: the latest study")
      .option("--format <name>", "such as 4-bit-g64 or int8; may be repeated", collect)
      .option(
        "--scorer <name>",
        "kl, fisher, reconstruction or auto_scheme; may be repeated",
        collect,
      )
      .option("--windows <n>", "windows of calibration text; default: 2")
      .option("--tokens <n>", "of each window; default: 128")
      .option("--dataset <name>", "of a model: whose rows the text must not share; default: demo")
      .option("--calibration-data <file>", "of a model: the text; default: plain English")
      .option("--all", "print every layer")
      .option("--json", "print every row as JSON"),
  ).action(async (name: string | undefined, options) =>
    (await import("./sensitivity.ts")).sensitivityCommand(name, options)
  );

  withStore(
    program.command("mix").description("the best mix of formats under a budget, as a trial")
      .argument("[study]", "a study's id; default: the latest study")
      .option("--bits <n>", "budget: mean width of a linear weight with its scales, such as 3.5")
      .option("--bytes <n>", "budget: bytes of the linear layers")
      .option("--format <name>", "that a layer may have, such as 4-bit-g64; repeated", collect)
      .option("--refine <k>", "mixes that are evaluated, 0: scores decide; default: 6")
      .option("--free", "layers of one input, such as Q, K and V, may have different formats")
      .option("--no-run", "only weigh the mixes")
      .option("--json", "print the answer as JSON"),
  ).action(async (name: string | undefined, options) =>
    (await import("./mix.ts")).mixCommand(name, options)
  );
}
