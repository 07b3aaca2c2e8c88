import { z } from "zod";
import { unknownName, UsageError } from "../../errors.ts";
import { EVALUATION_PRESETS } from "./presets.ts";

const Words = z.record(z.string(), z.string());

const Participant = z.strictObject({
  agentbeats_id: z.string().optional(),
  id: z.string().optional(),
  name: z.string().min(1).optional(),
  env: Words.default({}),
});

/** Fields of `config` beside `DATASET_limit`, one for each dataset. */
const Config = z.looseObject({
  num_tasks: z.int().positive().optional(),
  conduct_debate: z.boolean().default(false),
  timeout_seconds: z.number().positive().optional(),
  datasets: z.array(z.string().min(1)).min(1).optional(),
  sampling_strategy: z.enum(["stratified", "random", "sequential", "weighted"]).optional(),
});

const Scenario = z.strictObject({
  green_agent: z.strictObject({
    agentbeats_id: z.string().optional(),
    id: z.string().optional(),
    env: Words.default({}),
  }).prefault({}),
  participants: z.array(Participant).default([]),
  config: Config.prefault({}),
});

/** An evaluation that a scenario asks for. */
export interface AskedScenario {
  /** As `readEvaluationConfig` takes it. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Where the participant's model answers, and its name there; undefined: the file names none. */
  readonly base_url?: string;
  readonly model?: string;
  /** The variable whose value is the key: the value itself is looked up by who asks the server. */
  readonly key_variable?: string;
  /** Whether each answer is challenged once, and both are scored. */
  readonly conduct_debate?: true;
}

const LIMIT = /^(.+)_limit$/;
const REFERENCE = /\$\{(\w+)\}/g;
const KEY = "OPENAI_API_KEY";
/** Of the participant: the judge's and the data's variables are the evaluator's own. */
const READ = [KEY, "OPENAI_API_BASE", "OPENAI_BASE_URL", "LLM_MODEL", "LLM_PROVIDER"];

/** A text with the variables that it refers to. */
function resolved(text: string, place: string, env: Readonly<Record<string, string | undefined>>) {
  return text.replace(REFERENCE, (whole, name: string) => {
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    throw new UsageError(`Cannot read ${place}: it refers to ${whole}, which is not set`);
  });
}

/** The variable that holds a key; a key that is written out is refused, as files are shared. */
function keyVariable(text: string | undefined, place: string): string | undefined {
  if (text === undefined) return undefined;
  const [, name] = /^\$\{(\w+)\}$/.exec(text.trim()) ?? [];
  if (name !== undefined) return name;
  throw new UsageError(
    `Cannot take ${place}: a key is written out there; name a variable that holds it, such as \${${KEY}}`,
  );
}

function presetEntry(type: string): Readonly<Record<string, unknown>> {
  const { datasets } = EVALUATION_PRESETS["large"] as { datasets: { type: string }[] };
  const found = datasets.find((one) => one.type === type);
  const { limit: _, limit_per_task: __, ...rest } = (found ?? { type }) as Record<string, unknown>;
  return rest;
}

/** The datasets of a scenario: those of its evaluation's file where it names one, with its limits. */
function datasetsOf(
  config: z.output<typeof Config>,
  base: readonly Readonly<Record<string, unknown>>[] | undefined,
): Readonly<Record<string, unknown>>[] {
  const names = config.datasets ?? base?.map(({ type }) => String(type)) ?? [];
  if (names.length === 0) {
    throw new UsageError(
      "Cannot evaluate a scenario without datasets: name them in config.datasets, or a file in " +
        "green_agent.env.EVAL_CONFIG",
    );
  }
  return names.map((type) => {
    const entry = base?.find((one) => one["type"] === type) ?? presetEntry(type);
    const limit = config[`${type}_limit`];
    return { ...entry, ...(limit === undefined ? {} : { limit }) };
  });
}

function checkedLimits(config: z.output<typeof Config>, names: readonly string[]): void {
  const known = Object.keys(Config.shape);
  for (const [field, value] of Object.entries(config)) {
    if (known.includes(field)) continue;
    const [, dataset] = LIMIT.exec(field) ?? [];
    if (dataset === undefined || !names.includes(dataset)) {
      throw new UsageError(
        unknownName("field of config", field, [...known, ...names.map((one) => `${one}_limit`)]),
      );
    }
    if (!Number.isInteger(value) || (value as number) < 1) {
      throw new UsageError(`Cannot take config.${field}: it is a whole number from 1 on`);
    }
  }
}

/**
 * Reads a `scenario.toml` of AgentBeats: the datasets with their limits, and the one participant, whose
 * model is evaluated behind its endpoint.
 *
 * `base`: reads the file of `EVAL_CONFIG`; null: it is not there, and the large preset's own fields of
 * each dataset count.
 *
 * @throws UsageError a field that is unknown or wrong, a variable that is not set, a key written out
 */
export function readScenario(
  document: unknown,
  env: Readonly<Record<string, string | undefined>>,
  base: (path: string) => Readonly<Record<string, unknown>> | null,
): AskedScenario {
  const read = Scenario.safeParse(document);
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue!.path.join(".");
    if (issue!.code === "unrecognized_keys" && place === "") {
      throw new UsageError(unknownName("section", issue!.keys[0]!, Object.keys(Scenario.shape)));
    }
    throw new UsageError(
      `Cannot take ${place === "" ? "the scenario" : place}: ${
        issue!.message.replace(/^Invalid input: /, "")
      }`,
    );
  }
  const { green_agent, participants, config } = read.data;
  const [own, ...others] = participants;
  if (others.length > 0) {
    throw new UsageError(
      `Cannot evaluate ${participants.length} participants at once: keep one of the tables ` +
        "participants, and run the others after it",
    );
  }
  const named = green_agent.env["EVAL_CONFIG"];
  const found = named === undefined
    ? null
    : base(resolved(named, "green_agent.env.EVAL_CONFIG", env));
  const datasets = datasetsOf(config, found?.["datasets"] as never);
  checkedLimits(config, datasets.map(({ type }) => String(type)));
  const sampling = {
    ...(found?.["sampling"] as Record<string, unknown> | undefined),
    ...(config.num_tasks === undefined ? {} : { total_limit: config.num_tasks }),
    ...(config.sampling_strategy === undefined ? {} : { strategy: config.sampling_strategy }),
  };
  return {
    document: {
      name: own?.name ?? "scenario",
      ...found,
      datasets,
      sampling,
      ...(config.timeout_seconds === undefined ? {} : { timeout_seconds: config.timeout_seconds }),
    },
    ...participantOf(own, env),
    ...(config.conduct_debate ? { conduct_debate: true } : {}),
  };
}

function participantOf(
  own: z.output<typeof Participant> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Omit<AskedScenario, "document"> {
  if (own === undefined) return {};
  const at = (name: string) => `participants.env.${name}`;
  const strange = Object.keys(own.env).find((name) => !READ.includes(name));
  if (strange !== undefined) {
    throw new UsageError(unknownName("variable of participants.env", strange, READ));
  }
  const value = (name: string) =>
    own.env[name] === undefined ? undefined : resolved(own.env[name], at(name), env);
  const provider = value("LLM_PROVIDER") ?? "openai";
  if (provider !== "openai") {
    throw new UsageError(
      `Cannot ask ${at("LLM_PROVIDER")} "${provider}": an endpoint speaks OpenAI's interface here`,
    );
  }
  const base_url = value("OPENAI_API_BASE") ?? value("OPENAI_BASE_URL");
  const model = value("LLM_MODEL");
  const key_variable = keyVariable(own.env[KEY], at(KEY));
  return {
    ...(base_url === undefined ? {} : { base_url }),
    ...(model === undefined ? {} : { model }),
    ...(key_variable === undefined ? {} : { key_variable }),
  };
}
