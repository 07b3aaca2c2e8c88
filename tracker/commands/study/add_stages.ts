import type { Command } from "commander";
import { withEngine } from "../input/command_options.ts";

type With = (command: Command) => Command;

/** `pare stages` and what belongs to it; what they need is imported when they run. */
export function addStagesCommand(
  program: Command,
  { withRunOptions, withShowOptions }: { withRunOptions: With; withShowOptions: With },
): void {
  const stages = withEngine(withRunOptions(
    program.command("stages").description("run stages in their order, each gated; ship what passed")
      .argument("[stages.yaml]", "a staged document")
      .option(
        "--example [document]",
        "print a document and run nothing: codecs, three one after another, or composed, one a layer",
      )
      .option("--forecast", "say what it would take in time, storage and cost, and run nothing"),
  )).action(async (file: string | undefined, options) =>
    (await import("./stages.ts")).stagesCommand(file, options)
  );

  withShowOptions(
    stages.command("show").description("the ledger of a staged run: every check and decision")
      .argument("[study]", "its id; default: the latest"),
  ).action(async (study: string | undefined, _options, command: Command) =>
    // An option that the command above has, too, is read as that one's.
    (await import("./stages.ts")).showStagesCommand(study, command.optsWithGlobals())
  );
}
