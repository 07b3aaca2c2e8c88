import type { Command } from "commander";

/** `pare judge check`. */
export function addJudgeCommand(
  program: Command,
  withStore: (command: Command) => Command,
  collect: (value: string, before: string[] | undefined) => string[],
): void {
  const judge = program.command("judge").description("how far a judge of answers can be trusted");
  withStore(
    judge.command("check").description("hold a judge against labels, the rule, others and itself")
      .argument("[trial]", "STUDY or STUDY/t00; default: the latest study's t00")
      .option("--gold <file>", "CSV of people's labels: sample_id,label (yes, no, or a number)")
      .option("--scale <worst,best>", "of the labels; default: 0,1")
      .option("--task <name>", "where answers of several were judged")
      .option("--scorer <name>", "where several judged them")
      .option(
        "--beside <trial>",
        "another model's answers, by the same judge; may be repeated",
        collect,
      )
      .option("--seed <n>", "of the intervals' draws; default: 0")
      .option("--json", "all of it as JSON"),
  ).action(async (trial: string | undefined, options) =>
    (await import("./check_judge.ts")).checkJudgeCommand(trial, options)
  );
}
