import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import {
  baseUrl,
  type ExperimentsPlan,
  type PlannedMember,
  type StudyRequestInput,
  unknownName,
  UsageError,
} from "../../../core/mod.ts";
import {
  type ExperimentsDocument,
  kindOfMembers,
  type MemberAsked,
  membersOf,
  readExperiments,
} from "../../../core/experiments/document.ts";
import { providerOf } from "../../../core/experiments/providers.ts";
import { EVALUATION_PRESETS } from "../../../core/serving/evaluation/presets.ts";
import { readYaml } from "../../ground/storage/read_yaml.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { keepSalt, saltOf } from "../../session/experiments/account.ts";
import { type ConfiguredEvaluation, configuredEvaluation } from "../input/configured_evaluation.ts";

/** Variables that say where a model answers, where a document does not. */
interface Variables {
  readonly [name: string]: string | undefined;
}

/** Which of a document's experiments are meant; neither: its only one. */
export interface ExperimentsAsked {
  readonly experiment?: readonly string[];
  readonly all?: boolean;
  readonly plugin?: readonly string[];
}

const DEFAULT_CONFIG = "quick";

/** The experiments that are asked for; one that is alone need not be named. */
function namesAsked(
  { experiments }: ExperimentsDocument,
  { experiment = [], all = false }: ExperimentsAsked,
): string[] {
  const known = experiments.map(({ name }) => name);
  if (all || (experiment.length === 0 && known.length === 1)) return known;
  if (experiment.length === 0) {
    throw new UsageError(
      `Cannot choose among ${known.length} experiments: name one by --experiment (${
        known.join(", ")
      }), or take --all`,
    );
  }
  const strange = experiment.find((name) => !known.includes(name));
  if (strange !== undefined) throw new UsageError(unknownName("experiment", strange, known));
  return known.filter((name) => experiment.includes(name));
}

/** A preset, a file beside the document, or one where the command stands. */
function configPath(name: string, document: string): string {
  if (name in EVALUATION_PRESETS) return name;
  const beside = resolve(dirname(document), name);
  return existsSync(beside) ? beside : name;
}

/** Where a member answers; null: pare serves it. */
function addressOf(asked: MemberAsked, env: Variables, where: string): string | null {
  if (asked.serve !== undefined) return null;
  const provider = providerOf(asked as { provider?: string; endpoint?: string });
  const url = asked.endpoint ?? provider?.base_url ?? (env["OPENAI_BASE_URL"] ||
    env["OPENAI_API_BASE"]);
  if (url !== undefined && url !== "") return baseUrl(url);
  throw new UsageError(
    `Cannot ask ${where}: name an endpoint, a provider or serve, or set OPENAI_BASE_URL`,
  );
}

/** How a member is asked, but for the address. */
function askingOf(
  asked: MemberAsked,
  evaluation: ConfiguredEvaluation,
  env: Variables,
  where: string,
): PlannedMember["endpoint"] {
  const served = asked.serve !== undefined;
  const provider = served
    ? undefined
    : providerOf(asked as { provider?: string; endpoint?: string });
  const key_variable = served ? undefined : asked.key_variable ?? provider?.key_variable;
  if (key_variable !== undefined && (env[key_variable] ?? "") === "") {
    throw new UsageError(`Cannot ask ${where}: the variable ${key_variable}, its key, is not set`);
  }
  const headers = served ? {} : { ...provider?.headers, ...asked.headers };
  const { tokenizer, concurrency = 4, timeout_seconds, patience_seconds = 600 } = asked;
  return {
    api: asked.api ?? provider?.api ?? "auto",
    tokenizer_dir: tokenizer === undefined ? null : resolve(tokenizer),
    timeout_seconds: timeout_seconds ?? evaluation.config.timeout_seconds,
    ...{ concurrency, patience_seconds },
    ...(key_variable === undefined ? {} : { key_variable }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(served || asked.routing === undefined ? {} : { routing: asked.routing }),
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
  { experiment, config_id, ...member }: Omit<PlannedMember, "study_id">,
  salt: string,
): string {
  const { llm_model, base_url, serve, endpoint: { api, tokenizer_dir, routing }, document } =
    member;
  const all = { salt, llm_model, base_url, serve, api, tokenizer_dir, routing, document };
  const hash = createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 8);
  return `${experiment.slice(0, 24)}-${config_id.slice(0, 24)}-${hash}`;
}

/** What all members of a document are prepared with. */
interface Preparing {
  readonly file: string;
  readonly document: ExperimentsDocument;
  readonly tasks: readonly string[];
  readonly plugins: readonly string[];
  readonly env: Variables;
  readonly salt: string;
}

function prepareMember(
  asked: MemberAsked,
  { file, document, tasks, plugins, env, salt }: Preparing,
): PlannedMember {
  const where = `${asked.experiment}.${asked.id}`;
  const model = asked.llm_model ?? asked.serve?.model ?? env["LLM_MODEL"];
  if (model === undefined || model === "") {
    throw new UsageError(`Cannot ask ${where} without a model: give llm_model, or set LLM_MODEL`);
  }
  const named = asked.eval_config ?? DEFAULT_CONFIG;
  const evaluation = configuredEvaluation(configPath(named, file), tasks, samplingOf(asked));
  const { config, configuration, study } = evaluation;
  const base_url = addressOf(asked, env, where);
  const price = document.prices[model] ?? null;
  if (document.budget.money !== undefined && price === null && base_url !== null) {
    throw new UsageError(
      `Cannot keep ${where} to a budget of money without the price of ${model}: add it to prices, ` +
        "or give a budget of tokens",
    );
  }
  const member = {
    ...{ experiment: asked.experiment, config_id: asked.id, llm_model: model, base_url },
    ...{ eval_config: named, num_tasks: config.sampling.total_limit ?? null },
    ...{ sampling_strategy: config.sampling.strategy, serve: asked.serve ?? null, price },
    endpoint: askingOf(asked, evaluation, env, where),
    document: {
      ...study,
      ...(plugins.length === 0 ? {} : { plugins: [...plugins] }),
      evaluation: {
        chat_template: asked.chat_template ?? false,
        configuration: { ...configuration, eval_config: named },
      },
    },
  };
  return { ...member, study_id: studyId(member, salt) };
}

/** What members go without, a line each. */
export function leftOutLines({ members }: Pick<ExperimentsPlan, "members">): string[] {
  const lines = members.flatMap(({ experiment, config_id, document: { evaluation } }) => {
    const { configuration } = evaluation as {
      configuration: ConfiguredEvaluation["configuration"];
    };
    return configuration.left_out.map(({ dataset, reason }) =>
      `note: ${experiment}.${config_id} goes on without ${dataset}: ${reason}; weights are made anew`
    );
  });
  return [...new Set(lines)];
}

/**
 * The run that a document of experiments asks for, and its name: the same again goes on there. All that
 * is wrong with a member is said before any work. `store`: its folder.
 *
 * @throws UsageError where one could not run
 */
export async function experimentsRequest(
  file: string,
  asked: ExperimentsAsked,
  { store, env }: { readonly store: string; readonly env: Variables },
): Promise<{ request: StudyRequestInput; plan: ExperimentsPlan; study_id: string }> {
  const document = readExperiments(readYaml(file, "the experiments"));
  const names = namesAsked(document, asked);
  const plugins = [...document.plugins, ...asked.plugin ?? []].map((one) =>
    one.startsWith("npm:") ? one : resolve(one)
  );
  const { tasks } = await discoverPlugins(plugins);
  const account = basename(file).replace(/\.ya?ml$/, "").replaceAll(/[^\w.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "") || "experiments";
  const how: Preparing = {
    ...{ file, document, plugins, env, tasks: tasks.map(({ name }) => name) },
    salt: saltOf(store, account),
  };
  const chosen = document.experiments.filter(({ name }) => names.includes(name));
  const members = chosen.map((experiment) => membersOf(document, experiment));
  const { currency, budget: { money, tokens: most } } = document;
  const plan: ExperimentsPlan = {
    ...{ account, currency },
    groups: chosen.map(({ name, description }, at) => ({
      ...{ name, description, kind: kindOfMembers(members[at]!) },
    })),
    members: members.flat().map((one) => prepareMember(one, how)),
    budget: {
      ...(money === undefined ? {} : { money }),
      ...(most === undefined ? {} : { tokens: most }),
    },
  };
  keepSalt(store, account, how.salt);
  const ids = plan.members.map(({ study_id }) => study_id);
  const hash = createHash("sha256").update(JSON.stringify(ids)).digest("hex").slice(0, 8);
  return {
    plan,
    study_id: `${account.slice(0, 40)}-${hash}`,
    request: {
      kind: "experiments",
      experiments: plan,
      ...(plugins.length === 0 ? {} : { plugins }),
    } as StudyRequestInput, // what it is about follows from its members
  };
}
