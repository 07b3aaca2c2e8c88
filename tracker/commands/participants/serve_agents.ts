import process from "node:process";
import { baseUrl, UsageError } from "../../../core/mod.ts";
import { parseWhole } from "../../ground/terminal/parse_values.ts";
import { listedModels } from "../../serving/listed_models.ts";
import { type Agent, serveAgent } from "../../serving/participants/serve_agent.ts";
import { toolParticipant } from "../../serving/participants/tool_participant.ts";
import { evaluatorAgent } from "./evaluator_agent.ts";
import { variableOf } from "./participant_options.ts";

/** Options of `pare participants serve`, as commander hands them over. */
interface Options {
  readonly evaluator?: boolean;
  readonly config: string;
  readonly endpoint?: string;
  readonly servedModel?: string;
  readonly host: string;
  readonly port?: string;
  readonly cardUrl?: string;
  readonly keyVariable?: string;
  readonly store?: string;
}

/** As the requirement has them: who evaluates, and who is evaluated. */
const PORTS = { evaluator: 9109, participant: 9110 };
/** Of one request of the model, milliseconds. */
const MODEL_MS = 300_000;

/** The model that a server is asked for: the one named, or its only one. */
export async function modelOf(base_url: string, named: string | undefined): Promise<string> {
  const name = named ?? process.env["LLM_MODEL"];
  if (name !== undefined && name !== "") return name;
  const names = await listedModels(base_url).catch((error) => {
    throw new UsageError(`Cannot ask ${base_url} for its models: ${error.message}`);
  });
  if (names.length === 1) return names[0]!;
  throw new UsageError(
    `Cannot choose a model of ${base_url}: it lists ${names.length}; name one by --served-model`,
  );
}

async function referenceAgent(options: Options): Promise<Agent> {
  const given = options.endpoint ?? (process.env["OPENAI_BASE_URL"] ||
    process.env["OPENAI_API_BASE"]);
  if (given === undefined || given === "") {
    throw new UsageError(
      "Cannot serve a participant without a model: give --endpoint URL, or OPENAI_BASE_URL",
    );
  }
  const base_url = baseUrl(given);
  const model = await modelOf(base_url, options.servedModel);
  const key = process.env["OPENAI_API_KEY"] || null;
  const { ask } = toolParticipant({ base_url, model, key, timeout_ms: MODEL_MS });
  return {
    name: `pare participant (${model})`,
    description: "Answers questions by a model with a calculator and a price tool",
    answer: async (text) => (await ask(text)).text,
  };
}

/** `pare participants serve`: an agent, or the evaluator of agents, until Ctrl-C. */
export async function serveAgentsCommand(options: Options): Promise<void> {
  const key = variableOf(options.keyVariable);
  const near = /^(127\.|localhost$|::1$)/.test(options.host);
  if (!near && key === null) {
    throw new UsageError(
      `Cannot serve at ${options.host} without a key: name a variable that holds one by ` +
        "--key-variable, or listen at 127.0.0.1",
    );
  }
  const { evaluator = false, config, store } = options;
  const agent = evaluator
    ? evaluatorAgent({ config, private_too: near, ...(store === undefined ? {} : { store }) })
    : await referenceAgent(options);
  const port = options.port === undefined
    ? PORTS[evaluator ? "evaluator" : "participant"]
    : parseWhole(options.port, "--port", 0);
  await using served = serveAgent(agent, {
    ...{ host: options.host, port, key },
    ...(options.cardUrl === undefined ? {} : { card_url: options.cardUrl }),
  });
  console.log(`${agent.name} at ${served.url}, until Ctrl-C`);
  await new Promise<void>((resolve) => {
    Deno.addSignalListener("SIGINT", resolve);
    Deno.addSignalListener("SIGTERM", resolve);
  });
}
