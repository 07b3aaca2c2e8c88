import type { Command } from "commander";

/** `pare score`. */
export function addScoreCommand(
  program: Command,
  withStore: (command: Command) => Command,
  collect: (value: string, before: string[] | undefined) => string[],
): void {
  withStore(
    program.command("score").description("score kept answers again, without the model")
      .argument("[study]", "its id; default: the latest")
      .requiredOption("--task <name>", "whose answers are scored")
      .option("--scorer <name>", "`pare plugins` lists them; default: the task's own")
      .option("--param <name=value>", "a knob of the scorer; may be repeated", collect)
      .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
      .option("--judge-endpoint <url>", "a server that a scorer asks which judges")
      .option("--judge-model <name>", "the judge's name on that server")
      .option("--judge-chat", "ask the judge by /chat/completions")
      .option("--json", "what changed as JSON"),
  ).action(async (study: string | undefined, options) =>
    (await import("./score.ts")).scoreCommand(study, options)
  );
}
