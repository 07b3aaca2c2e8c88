import type { Command } from "commander";
import {
  withEngine,
  withLimitOptions,
  withRunOptions,
  withTaskOptions,
  withTheseOptions,
} from "../input/command_options.ts";

/** `pare sweep`; what it needs is imported when it runs. */
export function addSweepCommand(program: Command): void {
  const sweep = program.command("sweep")
    .description("cross cache policies with budgets, on prompts that are read once for all")
    .argument("[sweep.json]", "its document; options stand above its fields")
    .option("--methods <names>", "policies of the cache, such as snapkv,h2o,streaming")
    .option("--budgets <list>", "tokens that a head keeps, or below 1 a share: 128,256,0.1")
    .option("--set <knobs>", "of every method that has them, such as window=16");
  withTheseOptions(sweep, "--max-accuracy-drop", "--goals", "--max-kv-gb", "--context", "--front");
  withEngine(withRunOptions(withLimitOptions(withTaskOptions(sweep)))).action(async (
    file: string | undefined,
    options,
  ) => (await import("./sweep.ts")).sweepCommand(file, options));
}
