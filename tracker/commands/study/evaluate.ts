import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { baseUrl, type StudyRequestInput, UsageError } from "../../../core/mod.ts";
import type { Configuration } from "../../../core/runs/evaluation/configuration.ts";
import type { EvaluationConfig } from "../../../core/serving/evaluation/evaluation_config.ts";
import { parseDuration, parsePositive, parseWhole } from "../../ground/terminal/parse_values.ts";
import { runStudyCommand, type StudyCommandOptions } from "./run.ts";
import type { ConfiguredEvaluation } from "../input/configured_evaluation.ts";
import { type JudgeOptions, judgesAsked } from "../input/judge_options.ts";
import { studyFromOptions } from "../input/study_document.ts";

/** Options of `pare evaluate`, as commander hands them over. */
export interface EvaluateOptions extends StudyCommandOptions, JudgeOptions {
  endpoint?: string;
  servedModel?: string;
  tokenizer?: string;
  chat?: boolean;
  concurrency?: string;
  timeout?: string;
  patience?: string;
  chatTemplate?: boolean;
  /** A YAML file, or a preset by name. */
  config?: string;
}

/** The variables that OpenAI's own clients read; the key is read by who asks the server alone. */
interface Variables {
  OPENAI_BASE_URL?: string;
  OPENAI_API_BASE?: string;
  LLM_MODEL?: string;
}

function checkedTokenizer(directory: string | undefined): string | null {
  if (directory === undefined) return null;
  const path = resolve(directory);
  if (existsSync(path) && statSync(path).isDirectory()) return path;
  throw new UsageError(`Cannot read a tokenizer: --tokenizer must name a folder, not ${path}`);
}

function endpointOf(options: EvaluateOptions, variables: Variables) {
  const url = options.endpoint ??
    (options.model === undefined
      ? variables.OPENAI_BASE_URL ?? variables.OPENAI_API_BASE
      : undefined);
  if (url === undefined || url === "") {
    refuseWithout(options, "endpoint", ["servedModel", "tokenizer", "chat"]);
    return undefined;
  }
  if (options.model !== undefined) {
    throw new UsageError(
      "Cannot evaluate --model and --endpoint at once: a model lies here or is behind a server " +
        "(name the server's by --served-model)",
    );
  }
  return {
    base_url: baseUrl(url),
    model: options.servedModel ?? variables.LLM_MODEL ?? null,
    tokenizer_dir: checkedTokenizer(options.tokenizer),
    api: options.chat === true ? "chat" as const : "auto" as const,
    ...patience(options),
  };
}

function patience({ concurrency, timeout, patience }: EvaluateOptions) {
  return {
    ...(concurrency === undefined
      ? {}
      : { concurrency: parseWhole(concurrency, "--concurrency", 1) }),
    ...(timeout === undefined ? {} : { timeout_seconds: parsePositive(timeout, "--timeout") }),
    ...(patience === undefined ? {} : { patience_seconds: parseDuration(patience, "--patience") }),
  };
}

function refuseWithout(
  options: EvaluateOptions,
  wanted: string,
  names: readonly (keyof EvaluateOptions)[],
): void {
  const given = names.find((name) => options[name] !== undefined);
  if (given === undefined) return;
  const flag = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(`Cannot take --${flag} without --${wanted} URL`);
}

/** The study that `pare evaluate` runs. */
export function evaluationFromOptions(
  options: EvaluateOptions,
  variables: Variables,
  configured: Partial<StudyRequestInput> = {},
  configuration?: Configuration,
  llm_eval?: EvaluationConfig["llm_eval"],
) {
  const endpoint = endpointOf(options, variables);
  const model = endpoint === undefined
    ? options.model
    : endpoint.model ?? hostOf(endpoint.base_url);
  if (model === undefined) {
    throw new UsageError(
      "Cannot evaluate without a model: give --model NAME|PATH, or --endpoint URL (or " +
        "OPENAI_BASE_URL) of a server",
    );
  }
  if (options.chat === true && options.chatTemplate === true) {
    throw new UsageError(
      "Cannot take --chat-template with --chat: the server puts prompts in its own template",
    );
  }
  return studyFromOptions({ ...options, model }, {
    ...configured,
    evaluation: {
      ...(endpoint === undefined ? {} : { endpoint }),
      ...judgesAsked(options, patience(options), llm_eval?.enabled === true ? llm_eval : {}),
      chat_template: options.chatTemplate ?? false,
      ...(configuration === undefined ? {} : { configuration }),
    },
  });
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** The endpoint and model of a scenario's participant, unless the command line names who is asked. */
function asParticipant(
  asked: EvaluateOptions,
  { base_url, model, key_variable }: NonNullable<ConfiguredEvaluation["participant"]> = {},
): EvaluateOptions {
  if (asked.model !== undefined || asked.endpoint !== undefined || base_url === undefined) {
    return {};
  }
  const key = key_variable === undefined ? undefined : process.env[key_variable];
  // Who asks the server looks the key up under this name; it is written nowhere.
  if (key_variable !== undefined && (key === undefined || key === "")) {
    throw new UsageError(
      `Cannot ask ${base_url}: the variable ${key_variable}, its key, is not set`,
    );
  }
  if (key !== undefined) process.env["OPENAI_API_KEY"] = key;
  return { endpoint: base_url, ...(model === undefined ? {} : { servedModel: model }) };
}

/** `pare evaluate`: measures a model and compresses nothing. */
export async function evaluateCommand(options: EvaluateOptions): Promise<void> {
  const { config, ...asked } = options;
  if (config === undefined) {
    const request = evaluationFromOptions(options, Deno.env.toObject());
    return await runStudyCommand({ ...options, yes: true }, (lab) => lab.open(request));
  }
  if (asked.dataset !== undefined) {
    throw new UsageError(
      "Cannot take --dataset with --config: the configuration names its datasets",
    );
  }
  const { scenarioParticipant } = await import("../input/configured_evaluation.ts");
  if (scenarioParticipant(config).conduct_debate === true) {
    throw new UsageError(
      "Cannot conduct a debate, as an answer is asked for once here: run " +
        `pare participants evaluate --config ${config}, or set config.conduct_debate to false`,
    );
  }
  const { settled, request } = await configuredStudy(config, asked);
  await runStudyCommand({ ...settled, yes: true }, (lab) => lab.open(request));
}

/** The study of a configuration, and the options that it is run with. `changed`: above its sampling. */
export async function configuredStudy(
  config: string,
  asked: EvaluateOptions,
  changed: Partial<EvaluationConfig["sampling"]> = {},
) {
  const { configuredEvaluation } = await import("../input/configured_evaluation.ts");
  const { discoverPlugins } = await import("../../lab/discover.ts");
  const { tasks } = await discoverPlugins(asked.plugin);
  const found = configuredEvaluation(config, tasks.map(({ name }) => name), changed);
  console.error(found.said);
  const { timeout_seconds, llm_eval } = found.config;
  const base_url = llm_eval?.base_url ?? process.env["JUDGE_BASE_URL"];
  const judging = llm_eval === undefined
    ? undefined
    : { ...llm_eval, ...(base_url === undefined || base_url === "" ? {} : { base_url }) };
  if (judging?.enabled === true && asked.judgeEndpoint === undefined && !judging.base_url) {
    console.error(
      "note: llm_eval asks for a judge and none is named (--judge-endpoint, JUDGE_BASE_URL or " +
        "llm_eval.base_url): rules alone score",
    );
  }
  const settled: EvaluateOptions = {
    timeout: String(timeout_seconds),
    ...asParticipant(asked, found.participant),
    ...asked,
  };
  const request = evaluationFromOptions(
    settled,
    Deno.env.toObject(),
    found.study,
    found.configuration,
    judging,
  );
  return { settled, request };
}
