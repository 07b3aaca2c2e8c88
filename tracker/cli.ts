import "./ground/terminal/hang_up.ts"; // first: what is loaded later may listen to the signal
import { Command, CommanderError, Option } from "commander";
import { passProxyHere } from "./ground/http/this_machine.ts";
import { sayError } from "./commands/output/say_error.ts";
import { addServeCommands } from "./commands/serve/add_serve.ts";
import { addConvertCommand } from "./commands/exchange/add_convert.ts";
import { addPassOnCommands } from "./commands/exchange/pass_on_commands.ts";
import { hintAtDashedName } from "./commands/input/dashed_name.ts";
import {
  collect,
  withEndpoint,
  withEngine,
  withJson,
  withLimitOptions,
  withRunOptions,
  withStore,
  withStudyOptions,
  withTaskOptions,
} from "./commands/input/command_options.ts";
import { addMcpCommand } from "./commands/assistant/add_mcp.ts";
import { addPlanCommand } from "./commands/plan/add_plan.ts";
import { addQueueCommand } from "./commands/queue/add_queue.ts";
import { addLayerCommands } from "./commands/study/add_mix.ts";
import { addAddCommand, addCachesCommand, addKlCommand } from "./commands/study/add_elsewhere.ts";
import { addJudgeCommand } from "./commands/judge/add_judge.ts";
import { addScoreCommand } from "./commands/study/add_score.ts";
import { addStagesCommand } from "./commands/study/add_stages.ts";
import { addExperimentsCommand } from "./commands/experiments/add_experiments.ts";
import { addSweepCommand } from "./commands/study/add_sweep.ts";

// Commands import what they need when they run: `pare --help` reads this file, options and commander only.

/** Options of every command that touches the store. */
interface StoreOptions {
  store?: string;
}

function addStoreCommands(store: Command): void {
  withStore(store.command("rebuild").description("make the index anew from the journal"))
    .action(async (options) => (await import("./commands/keep/store.ts")).rebuildCommand(options));
  withStore(store.command("check").description("say what is wrong; changes nothing"))
    .action(async (options) => (await import("./commands/keep/store.ts")).checkCommand(options));
  store.command("forget").description("keep no artifacts any more for a store that is gone")
    .argument("<dir>", "where it was")
    .action(async (directory: string) =>
      (await import("./commands/keep/store.ts")).forgetCommand(directory)
    );
}

/** What a study goes by that is data: printed to be changed, and weighed anew. */
function addWeighCommands(program: Command): void {
  withJson(withStore(
    program.command("weigh").description("what other weights would pick of a study; runs nothing")
      .argument("[study]", "its id; default: the latest")
      .option("--weights <weights>", "such as accuracy=0.8,latency=0.1,memory=0.1")
      .option("--profile <name>", "one profile, such as edge; default: each of them")
      .option("--profiles <file>", "profiles of your own; default: what `pare profiles` prints"),
  )).action(async (study: string | undefined, options) =>
    (await import("./commands/ask/search_data.ts")).weighCommand(study, options)
  );

  program.command("profiles").description("print the weights that `pare weigh` goes by, as YAML")
    .action(async () => (await import("./commands/ask/search_data.ts")).profilesCommand());

  program.command("rules").description("print what a study tries first in which case, as YAML")
    .action(async () => (await import("./commands/ask/search_data.ts")).rulesCommand());
}

const CACHES = [
  "--caches <runtime>",
  "at the end, measure this runtime's settings of its cache with the front's weights",
] as const;

/** Everything that measures. */
function addRunCommands(program: Command): void {
  withEngine(withRunOptions(withStudyOptions(
    program.command("run").description("compress a model, measure it and draw the front")
      .argument("[study.json]", "a study document; options stand above its fields"),
  ))).option("--queue", "put it in line instead, as `pare queue add` does").option(...CACHES)
    .action(async (
      file: string | undefined,
      options,
    ) => (await import("./commands/study/run.ts")).runCommand(file, options));

  withEngine(withRunOptions(withEndpoint(withTaskOptions(
    program.command("evaluate").description("measure a model, here or behind a server"),
  )))).action(async (options) =>
    (await import("./commands/study/evaluate.ts")).evaluateCommand(options)
  );

  withRunOptions(
    program.command("demo").description("the study of the README, on a real model")
      .addOption(
        new Option("--model <from>", "its original as a package ships it, or as the hub has it")
          .choices(["package", "hub"]).default("package"),
      ),
  ).action(async (options) => (await import("./commands/study/run.ts")).demoCommand(options));

  withEngine(withRunOptions(withLimitOptions(
    program.command("resume").description("go on with a study that was stopped")
      .argument("[study]", "its id; default: the latest; limits that are given replace its own"),
  ))).option(...CACHES).action(async (study: string | undefined, options) =>
    (await import("./commands/study/run.ts")).resumeCommand(study, options)
  );
}

/** Ways out of the store. */
function addQueryCommands(program: Command): void {
  withStore(
    program.command("sql").description("ask the store in SQL")
      .argument("<query>", "one reading statement, a .sql file, or - for standard input")
      .addOption(
        new Option("--format <format>").choices(["table", "csv", "json", "parquet"]).default(
          "table",
        ),
      )
      .option("--output <file>", "write there instead of printing")
      .option("--max-rows <n>", "rows at most; default: 10000")
      .option("--timeout <time>", "stop the query after this long; default: 30s")
      .option("--param <name=value>", "a value for $name; may be repeated", collect)
      .option("--watch [seconds]", "ask again and draw over; default: every 2 s"),
  ).action(async (query: string, options) =>
    (await import("./commands/ask/sql.ts")).sqlCommand(query, options)
  );

  withJson(withStore(
    program.command("export").description("write every table and view as Parquet")
      .requiredOption("--parquet <dir>", "a new folder")
      .option("--force", "replace an earlier export"),
  )).action(async (options) =>
    (await import("./commands/exchange/export.ts")).exportCommand(options)
  );

  addConvertCommand(program);
  addServeCommands(program);
  const mlflow = program.command("mlflow").description("mirror studies to an MLflow server");
  withStore(
    mlflow.command("sync").description("mirror what is recorded and not on the server yet")
      .argument("[study]", "only this one; default: every study")
      .option("--mlflow <uri>", "the server; default: MLFLOW_TRACKING_URI"),
  ).action(async (study: string | undefined, options) =>
    (await import("./commands/keep/mlflow.ts")).syncCommand(study, options)
  );
}

/** Ways into the store from other trackers. */
function addImportCommands(imports: Command): void {
  withStore(
    imports.command("optuna").description("the trials of an Optuna study's SQLite file")
      .argument("<file.db>").option("--study <name>", "only this study of the file"),
  ).action(async (file: string, options) =>
    (await import("./commands/exchange/import.ts")).importOptunaCommand(file, options)
  );

  withStore(
    imports.command("lm-eval").description("the figures and samples of an lm-eval results folder")
      .argument("<dir>", "what --output_path named"),
  ).action(async (folder: string, options) =>
    (await import("./commands/exchange/import.ts")).importLmEvalCommand(folder, options)
  );

  withStore(
    imports.command("sensitivity")
      .description("what AutoScheme or auto_quantize say that formats cost a study's layers")
      .argument("<file...>", "AutoScheme's scheme_*.json, or auto_quantize's checkpoint")
      .option("--study <id>", "of the same model; default: the latest study"),
  ).action(async (files: string[], options) =>
    (await import("./commands/exchange/import.ts")).importScoresCommand(files, options)
  );

  withStore(
    imports.command("mlflow").description("runs of an MLflow server, mlruns folder or .db file")
      .argument("<source>", "http://…, a folder, or MLflow's SQLite file")
      .option("--experiment <name>", "only this experiment; default: every one"),
  ).action(async (source: string, options) =>
    (await import("./commands/keep/mlflow.ts")).importMlflowCommand(source, options)
  );
}

/** What was found, and notes on it. */
function addLookCommands(program: Command): void {
  withJson(withStore(
    program.command("show").description("a trial's card: figures, gates, files, what to do next")
      .argument("[name]", "STUDY/t03, t03 of the latest study, or a study; default: the latest"),
  )).action(async (name: string | undefined, options) =>
    (await import("./commands/ask/show_trial.ts")).showCommand(name, options)
  );

  withJson(withStore(program.command("studies").description("list the studies of the store")))
    .action(async (options) => (await import("./commands/ask/show.ts")).studiesCommand(options));

  withJson(withStore(
    program.command("report").description("write a study's report and figures again")
      .argument("[study...]", "its id, default: the latest; several: one report over all of them")
      .option("--output <dir>")
      .option("--author <names>", "who is named as its author and cited")
      .option("--sql", "DuckDB and the data for the report's SQL box, beside it, about 12 MB")
      .option(
        "--tables",
        "results as papers keep them: RESULTS.md, LaTeX, predictions of each cell",
      )
      .option("--ours <method>", "with --tables: held against the others; default: recommended"),
  )).action(async (studies: string[], options) =>
    (await import("./commands/ask/show.ts")).reportCommand(studies, options)
  );

  withJson(withStore(
    program.command("compare").description("two trials sample by sample with costs, or two studies")
      .argument("<first>", "a trial, such as STUDY/t00 or t00 of the latest study, or a study")
      .argument("<second>", "one more of the same kind"),
  )).action(async (first: string, second: string, options) =>
    (await import("./commands/ask/compare.ts")).compareCommand(first, second, options)
  );

  addLayerCommands(program, withStore, collect);
  addCachesCommand(program, (one) => withJson(withStore(one)));
  addKlCommand(program, (one) => withJson(withStore(one)));
  addScoreCommand(program, collect);
  addJudgeCommand(program, withStore, collect);
  withJson(withStore(
    program.command("log").description("show the worker's log of a trial").argument("<trial>"),
  )).action(async (trial: string, options) =>
    (await import("./commands/ask/log.ts")).logCommand(trial, options)
  );

  withJson(withStore(
    program.command("note").description("keep a sentence with a study or a trial")
      .argument("<study|trial>").argument("<text>"),
  )).action(async (name: string, text: string, options) =>
    (await import("./commands/study/note.ts")).noteCommand(name, text, options)
  );

  withJson(withStore(
    program.command("status").description("how far the index is and who has the store"),
  ))
    .action(async (options) => (await import("./commands/ask/status.ts")).statusCommand(options));
}

/** The store as a page. */
function addBoardCommand(program: Command): void {
  program.command("board").description("the store as a local page, live, and as JSON over HTTP")
    .option("--store <dir>", "a store; may be repeated; default: store/ in PARE_HOME", collect)
    .option("--port <n>", "exactly this port; default: the first free one from 4747 on")
    .option("--no-open", "print the address and open no browser")
    .action(async (options) => (await import("./commands/ask/board.ts")).boardCommand(options));
}

/** What there is to name in a study. */
function addKnownCommands(program: Command): void {
  withJson(
    program.command("plugins").description("list methods, datasets, tasks, samplers and runtimes"),
  )
    .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
    .action(async (options) => (await import("./commands/ask/show.ts")).pluginsCommand(options));

  withJson(
    program.command("datasets").description("what --dataset may say, and where the data come from"),
  )
    .argument("[name]", "only this dataset or benchmark")
    .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
    .action(async (name: string | undefined, options) =>
      (await import("./commands/keep/datasets.ts")).datasetsCommand(name, options)
    );

  program.command("schema").description("print a JSON schema")
    .addArgument(
      program.createArgument("[what]").choices([
        "action",
        "strategy",
        "result",
        "study",
        "handoff",
        "json",
      ]),
    )
    .action(async (what) => (await import("./commands/ask/schema.ts")).schemaCommand(what));
}

/** Commands by what a person wants to do; help shows them in this order. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Set up:": ["setup", "doctor", "complete"],
  "Start, and go on:": ["run", "add", "stages", "resume", "demo", "evaluate", "score", "queue"],
  "Choose what to ask for:": ["plugins", "datasets", "rules", "profiles", "schema"],
  "Look:": ["board", "mcp", "studies", "show", "status", "log", "note", "sql"],
  "Compare and decide:": ["compare", "kl", "caches", "weigh", "sensitivity", "mix"],
  "Publish:": ["report", "publish", "reproduce", "export", "convert", "push", "pull", "mlflow"],
  "Serve:": ["plan", "serve", "participants", "load", "diagnose"],
  "Keep and clean:": ["store", "import", "gc"],
};

/** Puts every command into its group, in the order of the groups. */
function group(program: Command): void {
  const place = Object.values(GROUPS).flat();
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(heading);
    }
  }
  const sorted = [...program.commands].sort((a, b) =>
    place.indexOf(a.name()) - place.indexOf(b.name())
  );
  // Help takes the groups in the order in which the commands stand.
  (program.commands as Command[]).splice(0, sorted.length, ...sorted);
  program.configureHelp({ visibleCommands: ({ commands }) => [...commands] });
}

/**
 * `pare complete SHELL` prints a shell's completion, which asks `pare complete -- WORDS` at each Tab. The
 * library that answers both reads the commands, and is loaded for them alone.
 */
async function addCompletion(program: Command, words: readonly string[]): Promise<void> {
  if (words[0] === "complete") (await import("@bomb.sh/tab/commander")).default(program);
  else {
    program.command("complete").argument("<shell>", "bash, zsh or fish")
      .description("print the shell's completion: see docs/command-line.md");
  }
}

async function buildProgram(words: readonly string[]): Promise<Command> {
  const program = new Command("pare")
    .description("Pare language models down along the Pareto front.")
    .version("0.1.0")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "pare: ")) });
  addRunCommands(program);
  addAddCommand(program, (one) => withJson(withStore(one)));
  addStagesCommand(program, { withRunOptions, withShowOptions: (one) => withJson(withStore(one)) });
  addSweepCommand(program);
  addExperimentsCommand(program);
  addQueryCommands(program);
  addImportCommands(program.command("import").description("take runs of another tracker over"));
  addLookCommands(program);
  addBoardCommand(program);
  addMcpCommand(program);
  addPlanCommand(program);
  addQueueCommand(program);
  addPassOnCommands(program, { withStore, withJson });
  addStoreCommands(program.command("store").description("rebuild or check the store"));
  addKnownCommands(program);
  addWeighCommands(program);
  addSetUpCommands(program);
  withStore(
    program.command("gc").description("remove artifacts and cached forms that can be made again")
      .option("--max-disk <size>", "bytes that they may fill together, such as 50GB")
      .option("--objects <address>", "of s3://BUCKET/PREFIX instead, what no home uses any more")
      .option("--unclaimed", "artifacts that no known store names may go, too")
      .option("--dry-run", "say what would be removed, and remove nothing")
      .option("--json", "as JSON; `pare schema json` describes it"),
  ).action(async (options) => (await import("./commands/keep/gc.ts")).gcCommand(options));
  await addCompletion(program, words);
  group(program);
  return program;
}

/** What a machine needs, looked at and made. */
function addSetUpCommands(program: Command): void {
  withJson(
    program.command("doctor").description("say what of the set-up is missing and how to get it"),
  )
    .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
    .action(async (options) => (await import("./commands/keep/setup.ts")).doctorCommand(options));

  program.command("setup").description("make the Python environments and fetch the demo model")
    .argument("[environment...]", "only these, such as llama_cpp; default: those of a study")
    .option("--plugin <path|npm:…>", "one more plugin; may be repeated", collect)
    .action(async (names: string[], options) =>
      (await import("./commands/keep/setup.ts")).setupCommand(names, options)
    );
}

/** Runs one command line; exit code 0, 2 for a mistake of the user's, 130 for Ctrl-C, 1 for ours. */
export async function main(words: string[]): Promise<number> {
  try {
    passProxyHere();
    await (await buildProgram(words)).parseAsync(words, { from: "user" });
    return Deno.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === "commander.unknownOption") hintAtDashedName(words);
      return error.exitCode === 0 ? 0 : 2;
    }
    return sayError(error);
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
