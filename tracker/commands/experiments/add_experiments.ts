import type { Command } from "commander";
import { collect, withEngine, withStore } from "../input/command_options.ts";

/** `pare experiments`; its work is imported when it runs. */
export function addExperimentsCommand(program: Command): void {
  withEngine(withStore(
    program.command("experiments")
      .description("evaluate many configurations, one after the other, and compare them")
      .argument("[experiments.yaml]", "its document", "experiments/experiment_configs.yaml")
      .option("--experiment <name>", "this one alone; may be repeated", collect)
      .option("--all", "all of the document's")
      .option("--output-dir <dir>", "where results, table and page go", "results/experiments")
      .option("--queue", "in line beside the store, for `pare queue work`, and not now")
      .option("--json", "the run as JSON")
      .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect),
  )).action(async (file: string, options) =>
    (await import("./experiments.ts")).experimentsCommand(file, options)
  );
}
