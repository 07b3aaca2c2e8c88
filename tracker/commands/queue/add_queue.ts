import { type Command, Option } from "commander";
import { collect, withJson, withStore, withStudyOptions } from "../input/command_options.ts";

const PRIORITY = () =>
  new Option("--priority <p>", "P0 begins at once, P1 in order, P2 when nothing else waits")
    .choices(["P0", "P1", "P2"]);

/** Options of a place in line; `pare queue add` has them all. */
function withPlace(command: Command): Command {
  return command.optionsGroup("Its place in line:")
    .addOption(PRIORITY().default("P1"))
    .option("--title <text>", "what people call it; default: its kind, model and dataset")
    .option("--after <job>", "not before this job is done; may be repeated", collect)
    .option("--after-met <job>", "and not before it has met its success criteria", collect)
    .option("--success <text>", 'such as "accuracy drop decided <= 0.02"; may be repeated', collect)
    .option("--engine <name>", "the one that it must run on; default: any that has room")
    .option("--engines <file>", "a file of engines; default: engines.yaml in PARE_HOME")
    .option("--slots <slots>", "such as cpu=4,gpu=1,memory=32GB; default: one card, else all CPU")
    .option("--estimate <time>", "what it takes; default: as earlier ones of its kind and size")
    .option("--hold <reason>", "it waits for a person, and why")
    .option("--anyway", "begin it even where it cannot end within the compute budget");
}

function actions(queue: Command): void {
  const one = (name: string, description: string) =>
    withStore(queue.command(name).description(description).argument("<job>", "such as EXP-047"));
  one("move", "to another place in line").addOption(PRIORITY())
    .option("--before <job>", "the job that it goes before; default: the end of the line")
    .action(async (job: string, options) =>
      (await import("./queue_actions.ts")).moveCommand(job, options)
    );
  one("hold", "do not begin it, or stop it in good order: it goes on later").argument("<reason>")
    .action(async (job: string, reason: string, options) =>
      (await import("./queue_actions.ts")).holdCommand(job, reason, options)
    );
  one("release", "end a hold, and look again for what was missing")
    .option("--anyway", "begin it even where it cannot end within the compute budget")
    .action(async (job: string, options) =>
      (await import("./queue_actions.ts")).releaseCommand(job, options)
    );
  one("cancel", "take it out of the queue, or end it as Ctrl-C does")
    .action(async (job: string, options) =>
      (await import("./queue_actions.ts")).cancelCommand(job, options)
    );
}

/** `pare queue`: studies in line, whoever runs them. */
export function addQueueCommand(program: Command): void {
  const queue = program.command("queue").description(
    "studies in line, on this machine or on engines",
  );
  withPlace(withStore(withStudyOptions(
    queue.command("add").description("put a study in line, as `pare run` would run it")
      .argument("[study.json]", "a study document; options stand above its fields"),
  ))).action(async (file: string | undefined, options) =>
    (await import("./add.ts")).addToQueueCommand(file, options)
  );
  withJson(withStore(queue.command("list").description("what runs, waits and is blocked, and why")))
    .action(async (options) => (await import("./look.ts")).listCommand(options));
  withJson(withStore(
    queue.command("show").description("a job with its attempts and checklists")
      .argument("<job>", "such as EXP-047"),
  )).action(async (job: string, options) =>
    (await import("./look.ts")).showJobCommand(job, options)
  );
  withStore(
    queue.command("log").description("what a job said")
      .argument("<job>", "such as EXP-047").option("--attempt <n>", "default: its last one"),
  ).action(async (job: string, options) => (await import("./look.ts")).jobLogCommand(job, options));
  actions(queue);
  withJson(withStore(
    queue.command("budget").description("compute hours: available, spent, given out, left")
      .option("--hours <n>", "set what is available in all; `none`: no limit")
      .option("--reserve <n>", "of these, kept for attempts after a first one")
      .option("--machine <kind>", "for one kind of machine")
      .option("--study <id>", "for one study"),
  )).action(async (options) => (await import("./budget.ts")).budgetCommand(options));
  withStore(
    queue.command("work").description("run what is in line, until Ctrl-C; what runs goes on then")
      .option(
        "--engine <name>",
        "local, slurm:PARTITION, ray://HOST:PORT, or one of engines.yaml; may be repeated",
        collect,
      )
      .option("--engines <file>", "a file of engines; default: engines.yaml in PARE_HOME")
      .option(
        "--notify <url|program>",
        "told as JSON of what ends, is blocked or gets stuck; may be repeated",
        collect,
      )
      .option("--until-idle", "end once nothing runs and nothing can begin")
      .option("--pages", "keep QUEUE.md and EXECUTION.md in the queue's folder up to date"),
  ).action(async (options) => (await import("./work.ts")).workCommand(options));
}
