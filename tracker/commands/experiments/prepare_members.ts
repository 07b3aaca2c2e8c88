import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { baseUrl, UsageError } from "../../../core/mod.ts";
import {
  type ExperimentsDocument,
  type MemberAsked,
  membersOf,
} from "../../../core/experiments/document.ts";
import { providerOf } from "../../../core/experiments/providers.ts";
import { EVALUATION_PRESETS } from "../../../core/serving/evaluation/presets.ts";
import { type ConfiguredEvaluation, configuredEvaluation } from "../input/configured_evaluation.ts";

/** Variables that say where a model answers, where a document does not. */
export interface Variables {
  readonly [name: string]: string | undefined;
}

/** A member that is checked: all that is wrong with it is said before any work. */
export interface PreparedMember {
  readonly asked: MemberAsked;
  /** Of its study in the store: the same member again goes on there. */
  readonly study_id: string;
  readonly model: string;
  readonly evaluation: ConfiguredEvaluation;
  /** Where it answers; null: pare serves it. */
  readonly address: Address | null;
  readonly price: { readonly input: number; readonly output: number } | null;
}

/** A server as a request names it; its key is looked up by who asks it. */
export interface Address {
  readonly base_url: string;
  readonly api: "auto" | "chat" | "messages";
  readonly key_variable?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const DEFAULT_CONFIG = "quick";

/** A preset, a file beside the document, or one where the command stands. */
function configPath(name: string, document: string): string {
  if (name in EVALUATION_PRESETS) return name;
  const beside = resolve(dirname(document), name);
  return existsSync(beside) ? beside : name;
}

function addressOf(asked: MemberAsked, env: Variables, where: string): Address | null {
  if (asked.serve !== undefined) return null;
  const provider = providerOf(asked as { provider?: string; endpoint?: string });
  const url = asked.endpoint ?? provider?.base_url ?? env["OPENAI_BASE_URL"] ??
    env["OPENAI_API_BASE"];
  if (url === undefined || url === "") {
    throw new UsageError(
      `Cannot ask ${where}: name an endpoint, a provider or serve, or set OPENAI_BASE_URL`,
    );
  }
  const key_variable = asked.key_variable ?? provider?.key_variable;
  if (key_variable !== undefined && (env[key_variable] ?? "") === "") {
    throw new UsageError(`Cannot ask ${where}: the variable ${key_variable}, its key, is not set`);
  }
  const { headers = {} } = provider ?? {};
  return {
    base_url: baseUrl(url),
    api: asked.api ?? provider?.api ?? "auto",
    ...(key_variable === undefined ? {} : { key_variable }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  };
}

function samplingOf({ num_tasks, sampling_strategy, seed }: MemberAsked) {
  return {
    ...(num_tasks === undefined ? {} : { total_limit: num_tasks }),
    ...(sampling_strategy === undefined ? {} : { strategy: sampling_strategy }),
    ...(seed === undefined ? {} : { seed }),
  };
}

/**
 * A name that changes with whatever its answers depend on, so that no other member's are taken for them.
 * `salt`: of the store, as answers are kept by this name for all stores of a home.
 */
function studyId(
  { experiment, id, serve, tokenizer, chat_template }: MemberAsked,
  { config, study }: ConfiguredEvaluation,
  model: string,
  address: Address | null,
  salt: string,
): string {
  const { headers: _, key_variable: __, ...asked } = address ?? {};
  const all = {
    salt,
    model,
    asked,
    serve,
    tokenizer,
    chat_template,
    study,
    sections: config.sections,
  };
  const hash = createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 8);
  return `${experiment.slice(0, 24)}-${id.slice(0, 24)}-${hash}`;
}

function prepareMember(
  asked: MemberAsked,
  { file, document, tasks, env, salt }: {
    file: string;
    document: ExperimentsDocument;
    tasks: readonly string[];
    env: Variables;
    salt: string;
  },
): PreparedMember {
  const where = `${asked.experiment}.${asked.id}`;
  const model = asked.llm_model ?? asked.serve?.model ?? env["LLM_MODEL"];
  if (model === undefined || model === "") {
    throw new UsageError(`Cannot ask ${where} without a model: give llm_model, or set LLM_MODEL`);
  }
  const named = asked.eval_config ?? DEFAULT_CONFIG;
  const found = configuredEvaluation(configPath(named, file), tasks, samplingOf(asked));
  const configuration = { ...found.configuration, eval_config: named };
  const evaluation = { ...found, configuration };
  const address = addressOf(asked, env, where);
  const price = document.prices[model] ?? null;
  if (document.budget.money !== undefined && price === null && address !== null) {
    throw new UsageError(
      `Cannot keep ${where} to a budget of money without the price of ${model}: add it to prices, ` +
        "or give a budget of tokens",
    );
  }
  return {
    asked,
    study_id: studyId(asked, evaluation, model, address, salt),
    model,
    evaluation,
    address,
    price,
  };
}

/** Every member of the experiments that are asked for. @throws UsageError where one could not run */
export function prepareMembers(
  document: ExperimentsDocument,
  names: readonly string[],
  how: { file: string; tasks: readonly string[]; env: Variables; salt: string },
): PreparedMember[] {
  return document.experiments.filter(({ name }) => names.includes(name)).flatMap((experiment) =>
    membersOf(document, experiment).map((asked) => prepareMember(asked, { document, ...how }))
  );
}
