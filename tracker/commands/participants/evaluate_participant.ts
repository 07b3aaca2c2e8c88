import { writeFile } from "node:fs/promises";
import process from "node:process";
import { baseUrl, kindOf, UsageError } from "../../../core/mod.ts";
import { parsePositive, parseWhole } from "../../ground/terminal/parse_values.ts";
import { openParticipant, type Participant } from "../../serving/participants/participant.ts";
import {
  MODELS,
  type ParticipantEndpoint,
  serveParticipant,
} from "../../serving/participants/participant_endpoint.ts";
import { toolParticipant } from "../../serving/participants/tool_participant.ts";
import type { Lab } from "../../session/lab.ts";
import { evaluationShown } from "../../show/evaluation/shown.ts";
import type { StudyView } from "../../show/view/study_view.ts";
import { configuredStudy } from "../study/evaluate.ts";
import { goOnBy } from "../output/go_on.ts";
import { runStudyCommand } from "../study/run.ts";
import { scenarioParticipant } from "../input/configured_evaluation.ts";
import { participantUrl, variableOf } from "./participant_options.ts";
import { modelOf } from "./serve_agents.ts";

/** Options of `pare participants evaluate`, as commander hands them over. */
interface Options {
  readonly config: string;
  readonly endpoint?: string;
  readonly servedModel?: string;
  readonly numTasks?: string;
  readonly timeout?: string;
  readonly concurrency: string;
  readonly keyVariable?: string;
  readonly conductDebate?: boolean;
  readonly storePredicted?: boolean;
  readonly predictedMaxChars: string;
  readonly resume?: string;
  readonly verbose?: boolean;
  readonly output?: string;
  readonly store?: string;
}

/** Seconds for a card, and for an answer where nobody says. */
const SECONDS = 300;

/** What one evaluation came to. */
interface Evaluated {
  /** Whether it came to its end. */
  readonly whole: boolean;
  readonly result: Record<string, unknown>;
}

/** What it adds to the result that an evaluation has anyhow. */
async function resultOf(view: StudyView, lab: Lab, most: number | null) {
  const [text] = Object.values(evaluationShown.files(view));
  const predicted = most === null ? undefined : await lab.sql`
    SELECT task, sample_id, substr(answer, 1, ${most}) AS predicted, score
    FROM samples WHERE study_id = ${view.study_id} ORDER BY task, try_cast(sample_id AS INT)`;
  return {
    ...(typeof text === "string" ? JSON.parse(text) : { study_id: view.study_id }),
    ...(predicted === undefined ? {} : { predicted: [...predicted] }),
  };
}

/** Evaluates what answers behind an endpoint, under the name that it has there. */
async function evaluated(
  endpoint: ParticipantEndpoint,
  model: string,
  text: string | undefined,
  options: Options,
  changed: Parameters<typeof configuredStudy>[2],
): Promise<Evaluated> {
  const { config, timeout, concurrency, store } = options;
  const asked = { endpoint: endpoint.base_url, servedModel: model, chat: true, concurrency };
  const most = options.storePredicted === true
    ? parseWhole(options.predictedMaxChars, "--predicted-max-chars", 0)
    : null;
  let ended: Evaluated = { whole: false, result: {} };
  const kept = {
    goOn: (study_id: string) => goesOn(study_id, text, options),
    ...(store === undefined ? {} : { store }),
    onEnd: async (view: StudyView, lab: Lab) => {
      ended = { whole: view.stop === "evaluated", result: await resultOf(view, lab, most) };
    },
  };
  if (options.resume !== undefined) {
    await runStudyCommand({ ...kept, yes: true }, (lab) => lab.resume(options.resume));
  } else {
    const { settled, request } = await configuredStudy(
      config,
      { ...asked, ...(timeout === undefined ? {} : { timeout }) },
      changed,
    );
    await runStudyCommand({ ...settled, ...kept, yes: true }, (lab) => lab.open(request));
  }
  return ended;
}

/** Where a stopped evaluation asked, and for what: what it recorded names both. */
async function askedBefore({ resume, store, conductDebate }: Options) {
  if (resume === undefined) return { port: 0, challenged: conductDebate === true };
  if (conductDebate === true) {
    throw new UsageError(
      "Cannot conduct a debate with --resume: it goes on with the one study that it names",
    );
  }
  const { openLab } = await import("../../session/lab.ts");
  await using lab = await openLab(store === undefined ? {} : { store });
  const { facts, request } = await lab.view(resume);
  const { endpoint } = kindOf(request).asks(request);
  const port = Number(new URL(endpoint?.base_url ?? "http://none").port);
  if (port > 0) return { port, challenged: endpoint?.model === MODELS.challenged };
  throw new UsageError(
    `Cannot go on with ${resume}: it evaluated ${facts.model.model_name}, which is no participant`,
  );
}

/** Who is asked: an agent at an address, or a model with tools behind an endpoint. */
async function askedOf(text: string | undefined, options: Options) {
  const timeout_ms = 1000 *
    (options.timeout === undefined ? SECONDS : parsePositive(options.timeout, "--timeout"));
  const { endpoint, servedModel, keyVariable } = options;
  if ((text === undefined) === (endpoint === undefined)) {
    throw new UsageError(
      "Cannot evaluate a participant: name the address of an agent, --endpoint URL of a model, or " +
        "--config FILE of a scenario that names OPENAI_API_BASE",
    );
  }
  if (text !== undefined) {
    const url = participantUrl(text);
    const key = variableOf(keyVariable);
    return { url, participant: await reached(() => openParticipant({ url, key, timeout_ms })) };
  }
  const base_url = baseUrl(endpoint!);
  const url = participantUrl(base_url);
  const model = await modelOf(base_url, servedModel);
  const key = variableOf(keyVariable) ?? (process.env["OPENAI_API_KEY"] || null);
  return { url, participant: toolParticipant({ base_url, model, key, timeout_ms }) };
}

/** The options with what a scenario says of who is asked and how, where the command line does not. */
function withScenario(text: string | undefined, options: Options): Options {
  const { base_url, model, key_variable, conduct_debate } = scenarioParticipant(options.config);
  const named = text !== undefined || options.endpoint !== undefined;
  return {
    ...(named || base_url === undefined ? {} : { endpoint: base_url }),
    ...(named || model === undefined ? {} : { servedModel: model }),
    ...(named || key_variable === undefined ? {} : { keyVariable: key_variable }),
    ...(conduct_debate === undefined || options.resume !== undefined
      ? {}
      : { conductDebate: true }),
    ...options,
  };
}

/** `pare participants evaluate`: an agent, question by question, as every model is evaluated. */
export async function evaluateParticipantCommand(
  text: string | undefined,
  given: Options,
): Promise<void> {
  const options = withScenario(text, given);
  const changed = options.numTasks === undefined
    ? {}
    : { total_limit: parseWhole(options.numTasks, "--num-tasks", 1) };
  const { url, participant } = await askedOf(text, options);
  console.error(`participant ${participant.name} at ${url.origin}`);
  await using endpoint = serveParticipant(participant, {
    ...await askedBefore(options),
    onRefused: options.verbose === true ? (said) => console.error(`refused: ${said}`) : () => {},
  });
  const first = await evaluated(endpoint, MODELS.first, text, options, changed);
  const challenged = options.conductDebate === true && first.whole
    ? await evaluated(endpoint, MODELS.challenged, text, options, changed)
    : null;
  const result = {
    ...first.result,
    participant: { name: participant.name, url: url.origin, refused: told(endpoint) },
    ...(challenged === null ? {} : { challenged: challenged.result }),
  };
  if (options.output !== undefined) {
    await writeFile(options.output, `${JSON.stringify(result, null, 2)}\n`);
    console.log(`Written         ${options.output}`);
  }
}

/** The command that goes on: `pare resume` alone has nobody to ask. */
function goesOn(study_id: string, url: string | undefined, options: Options): string {
  return goOnBy(["participants", "evaluate", ...(url === undefined ? [] : [url])], {
    ...{ "--endpoint": options.endpoint, "--served-model": options.servedModel },
    ...{ "--key-variable": options.keyVariable, "--timeout": options.timeout },
    ...{ "--resume": study_id, "--store": options.store, "--output": options.output },
  });
}

function told({ refused }: ParticipantEndpoint) {
  return [...refused].map(([reason, questions]) => ({ reason, questions }));
}

async function reached(open: () => Promise<Participant>): Promise<Participant> {
  try {
    return await open();
  } catch (error) {
    throw new UsageError(
      `Cannot evaluate the participant: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
