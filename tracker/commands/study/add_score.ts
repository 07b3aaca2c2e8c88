import type { Command } from "commander";
import { withJudge, withStore } from "../input/command_options.ts";

/** `pare score`. */
export function addScoreCommand(
  program: Command,
  collect: (value: string, before: string[] | undefined) => string[],
): void {
  withStore(withJudge(
    program.command("score").description("score kept answers again, without the model")
      .argument("[study]", "its id; default: the latest")
      .option("--task <name>", "whose answers are scored")
      .option(
        "--rescore",
        "judge kept answers by --judge: of --task, or of every task that is written",
      )
      .option("--scorer <name>", "`pare plugins` lists them; default: the task's own")
      .option("--param <name=value>", "a knob of the scorer; may be repeated", collect)
      .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
      .option("--json", "what changed as JSON"),
  )).action(async (study: string | undefined, options) =>
    (await import("./score.ts")).scoreCommand(study, options)
  );
}
