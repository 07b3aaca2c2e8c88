import { type Command, Option } from "commander";
import { STUDY_OPTIONS } from "../study/study_options.ts";
import { OPTION_GROUPS, type StudyOption } from "./study_option.ts";

/** The options of the table that are of these kinds, in its order. */
const withOptionsOf = (command: Command, ...kinds: readonly StudyOption["of"][]): Command =>
  withOptionsWhere(command, ({ of }) => kinds.includes(of));

function withOptionsWhere(command: Command, taken: (option: StudyOption) => boolean): Command {
  for (const [group, heading] of Object.entries(OPTION_GROUPS)) {
    for (const one of STUDY_OPTIONS as readonly StudyOption[]) {
      if (one.group !== group || !taken(one)) continue;
      const option = new Option(one.flag, one.help).helpGroup(heading);
      command.addOption(one.reads === "repeated" ? option.argParser(collect) : option);
    }
  }
  return command;
}

export const withTaskOptions = (command: Command) => withOptionsOf(command, "task");
export const withLimitOptions = (command: Command) => withOptionsOf(command, "limit");
export const withStudyOptions = (command: Command) =>
  withOptionsOf(command, "task", "limit", "study", "place");
/** These options of a study alone, by their flags. */
export const withTheseOptions = (command: Command, ...flags: readonly string[]) =>
  withOptionsWhere(command, ({ flag }) => flags.includes(flag.split(" ")[0]!));

const PLACES = "Where it goes, and what is asked:";

export function withRunOptions(command: Command): Command {
  return withStore(command.optionsGroup(PLACES))
    .addOption(
      new Option("-y, --yes", "take every default and record that it was assumed")
        .helpGroup(OPTION_GROUPS["most used"]),
    )
    .option("--max-disk <size>", "bytes that artifacts may fill, such as 50GB")
    .option("--mlflow <uri>", "mirror to this MLflow server; default: MLFLOW_TRACKING_URI")
    .option("--output <dir>", "where report and figures go")
    .option("--json", "what it came to as JSON on standard output; asks nothing");
}

/** Whose machines run a study's calls, and on how many of their parts at once. */
export function withEngine(command: Command): Command {
  const known = command.options.some(({ long }) => long === "--workers"); // among all of a study
  return (known ? command : withOptionsOf(command, "place")).optionsGroup(PLACES)
    .option(
      "--engine <name>",
      "run its trials there, --workers at once: slurm:PARTITION, ray://HOST:PORT, local, or one of engines.yaml",
    )
    .option("--engines <file>", "a file of engines; default: engines.yaml in PARE_HOME");
}

/** What an evaluation takes beside the options of its study. */
export function withEndpoint(command: Command): Command {
  const asked = command.optionsGroup("The server that is asked, and the judge:")
    .option("--config <file>", "datasets and sampling as YAML, or quick, medium, large")
    .option("--endpoint <url>", "an OpenAI-compatible server; default: OPENAI_BASE_URL")
    .option("--served-model <name>", "the server's name of the model; default: LLM_MODEL")
    .option("--tokenizer <dir>", "the served model's tokenizer: prompts go as token ids")
    .option("--chat", "generate by /chat/completions, in the server's own template")
    .option("--concurrency <n>", "requests at a time; default: 4")
    .option("--timeout <seconds>", "for one whole answer of the server; default: 300")
    .option("--patience <time>", "for a busy server to have room again; default: 10m")
    .option("--chat-template", "put every prompt in the model's chat template");
  return withJudge(asked);
}

/** What a command that has answers judged takes. */
export function withJudge(command: Command): Command {
  return command
    .option("--judge <rubric>", "judge every written answer by this rubric: a name or a YAML file")
    .option("--judge-endpoint <url>", "a server that judges; several judge by majority", collect)
    .option("--judge-model <name>", "the judge's name on that server; may be repeated", collect)
    .option("--judge-chat", "ask the judge by /chat/completions alone")
    .option(
      "--judge-price <in,out>",
      "dollars for a million tokens read and written, for the cost",
    );
}

export function withStore(command: Command): Command {
  return command.option("--store <dir>", "the store; default: store/ in PARE_HOME");
}

export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function withJson(command: Command): Command {
  return command.option("--json", "as JSON; `pare schema json` describes it");
}
