import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { kindOf, type StudyEvent, type StudyRequestInput } from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import { portFor } from "../../serving/free_port.ts";
import { namedRuntime } from "../../serving/own_server.ts";
import { servingFolder } from "../../serving/serve_model.ts";
import { endAbandoned } from "../../serving/keep_server.ts";
import { type Served, startServed } from "../../serving/start_served.ts";
import type { FolderCache } from "../../artifacts/folder_cache.ts";
import type { Lab } from "../../session/lab.ts";
import { silentAsk } from "../../show/terminal/ask.ts";
import type { Address, PreparedMember } from "./prepare_members.ts";

/** What all members share. */
export interface Surroundings {
  readonly lab: Lab;
  readonly client: BackendClient;
  readonly caches: FolderCache;
  readonly plugins: readonly string[];
  /** The folder of the account, and its file that workers read. */
  readonly account: { readonly folder: string; readonly file: string };
  readonly budget: { readonly money?: number; readonly tokens?: number };
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly onEvent: (event: StudyEvent) => void;
}

const HOST = "127.0.0.1";

/** How a member ended. */
export interface MemberEnd {
  readonly stop: string;
  readonly message: string;
}

/** What workers are told of budget and prices; they read it anew for each member. */
function writeAccount(
  { account: { folder, file }, budget }: Surroundings,
  { study_id, price, address }: PreparedMember,
): void {
  const free = address === null ? 0 : null; // what this machine serves is asked for no money
  writeFileSync(
    file,
    JSON.stringify({
      ...{ folder, of: study_id },
      ...{ input_price: price?.input ?? free, output_price: price?.output ?? free },
      ...{ most_money: budget.money ?? null, most_tokens: budget.tokens ?? null },
    }),
  );
}

function requestOf(
  { asked, model, evaluation }: PreparedMember,
  plugins: readonly string[],
  address: Address,
): StudyRequestInput {
  const { tokenizer, concurrency, timeout_seconds, patience_seconds } = asked;
  return {
    model_name: model,
    ...evaluation.study,
    ...(plugins.length === 0 ? {} : { plugins: [...plugins] }),
    evaluation: {
      endpoint: {
        ...address,
        model,
        tokenizer_dir: tokenizer === undefined ? null : resolve(tokenizer),
        timeout_seconds: timeout_seconds ?? evaluation.config.timeout_seconds,
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(patience_seconds === undefined ? {} : { patience_seconds }),
      },
      chat_template: asked.chat_template ?? false,
      configuration: evaluation.configuration,
    },
  } as StudyRequestInput; // checked when it is opened
}

/** Starts the server that a member asks for. One that was begun is served where it was asked before. */
async function serveMember(
  { lab, client, caches, signal, say }: Surroundings,
  { asked }: PreparedMember,
  port: number | undefined,
): Promise<Served> {
  const plan = asked.serve!;
  await endAbandoned(servingFolder(lab.home.root)); // it may hold the port
  return await startServed({ home: lab.home, client, caches }, lab.registry, {
    name: plan.model,
    named: namedRuntime(lab.registry, plan.with),
    choices: plan.max_model_len === undefined ? {} : { max_model_len: plan.max_model_len },
    words: plan.words,
    place: () => ({ host: HOST, port: portFor(HOST, port) }),
    planned: plan.gpus === undefined ? null : { gpus: plan.gpus, container: plan.container },
    wait_seconds: plan.wait_seconds,
    retry: plan.retry ?? null,
  }, { signal, say });
}

/** Where a study was asked before; undefined: it was not. */
async function askedBefore({ lab }: Surroundings, study_id: string): Promise<URL | undefined> {
  const view = await lab.view(study_id);
  const { endpoint } = kindOf(view.request).asks(view.request);
  return endpoint === undefined ? undefined : new URL(endpoint.base_url);
}

/** Runs a member, or goes on with it: what was answered is not asked again. */
export async function runMember(
  around: Surroundings,
  member: PreparedMember,
): Promise<MemberEnd> {
  const { lab, signal, onEvent, plugins } = around;
  const { study_id } = member;
  const begun = (await lab.studies()).some((one) => one.study_id === study_id);
  writeAccount(around, member);
  const before = begun ? await askedBefore(around, study_id) : undefined;
  const port = before === undefined || member.address !== null ? undefined : Number(before.port);
  const served = member.address === null ? await serveMember(around, member, port) : null;
  try {
    const address = member.address ?? {
      base_url: `${served!.server.origin}/v1`,
      api: member.asked.api ?? "auto",
    };
    const session = begun
      ? await lab.resume(study_id)
      : await lab.open(requestOf(member, plugins, address), study_id);
    const { stop, message } = await session.run({ ask: silentAsk(), signal, onEvent });
    return { stop, message };
  } finally {
    await served?.server.kept.stop();
  }
}
