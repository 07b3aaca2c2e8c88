import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { parse } from "yaml";
import { unknownName, UsageError } from "../../../core/mod.ts";
import { type ExperimentsDocument, readExperiments } from "../../../core/experiments/document.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { openFolderCache } from "../../artifacts/folder_cache.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { findHome } from "../../ground/home.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { type Lab, openLab } from "../../session/lab.ts";
import { textTable } from "../../show/terminal/table.ts";
import { announce } from "../output/study_said.ts";
import { interruptible } from "../output/interruptible.ts";
import { type PreparedMember, prepareMembers } from "./prepare_members.ts";
import { type MemberEnd, runMember, type Surroundings } from "./run_member.ts";
import { writeResults } from "./write_results.ts";

/** What `pare experiments` may be told. */
export interface ExperimentsOptions {
  store?: string;
  experiment?: string[];
  all?: boolean;
  outputDir: string;
  plugin?: string[];
}

/** Characters of a document: experiments are a page or two. */
const LONGEST = 1_000_000;
const SALT = "salt";
const ACCOUNT_VARIABLE = "PARE_ACCOUNT";

function readFile(file: string): ExperimentsDocument {
  let document: unknown;
  try {
    const text = readFileSync(file, "utf8");
    if (text.length > LONGEST) throw new Error(`it has more than ${LONGEST} characters`);
    document = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    const [said] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new UsageError(`Cannot read the experiments ${file}: ${said}`);
  }
  return readExperiments(document);
}

/** The experiments that are asked for; one that is alone need not be named. */
function namesAsked(
  { experiments }: ExperimentsDocument,
  { experiment = [], all = false }: ExperimentsOptions,
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

/** What tells the members of this store from those of another one. */
function saltOf(shared: string): string {
  try {
    return readFileSync(join(shared, SALT), "utf8");
  } catch {
    return crypto.randomUUID();
  }
}

/** What is going to be asked of whom. */
function planText(members: readonly PreparedMember[]): string {
  const rows = members.map(({ asked, model, address, evaluation: { config, configuration } }) => [
    ...[asked.experiment, asked.id, model, address?.base_url ?? "served here"],
    ...[configuration.eval_config, config.sampling.strategy],
    String(config.sampling.total_limit ?? "all"),
  ]);
  const head = ["experiment", "configuration", "model", "at", "evaluation", "sampling", "samples"];
  const notes = members.flatMap(({ asked, evaluation: { configuration: { left_out } } }) =>
    left_out.map(({ dataset, reason }) =>
      `note: ${asked.experiment}.${asked.id} goes on without ${dataset}: ${reason}; weights are made anew`
    )
  );
  return [textTable(head, rows), ...new Set(notes)].join("\n");
}

/** Ends after which the other members would come to the same. */
function endsAll({ stop, message }: MemberEnd): boolean {
  return stop === "cancelled" || message.includes("Cannot ask within the budget");
}

async function runAll(
  around: Surroundings,
  members: readonly PreparedMember[],
  after: (ends: ReadonlyMap<string, MemberEnd>) => Promise<void>,
): Promise<ReadonlyMap<string, MemberEnd>> {
  const ends = new Map<string, MemberEnd>();
  for (const [at, member] of members.entries()) {
    const { asked, study_id } = member;
    const named = `${asked.experiment}.${asked.id}`;
    const done = await finished(around.lab, study_id);
    around.say(`[${at + 1}/${members.length}] ${named}${done ? ": done already" : ""}`);
    if (done) continue;
    const end = await memberEnd(around, member);
    ends.set(study_id, end);
    if (end.stop !== "evaluated") around.say(`${named}: ${end.message}`);
    await after(ends);
    if (endsAll(end)) break;
  }
  return ends;
}

/** A member that cannot be asked is told, and the others are asked. */
async function memberEnd(around: Surroundings, member: PreparedMember): Promise<MemberEnd> {
  try {
    return await runMember(around, member);
  } catch (error) {
    if (around.signal.aborted) return { stop: "cancelled", message: "it was stopped" };
    return { stop: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

async function finished(lab: Lab, study_id: string): Promise<boolean> {
  const known = (await lab.studies()).some((one) => one.study_id === study_id);
  return known && (await lab.view(study_id)).stop === "evaluated";
}

/** `pare experiments`: every member after the other, and what they come to beside each other. */
export async function experimentsCommand(file: string, options: ExperimentsOptions): Promise<void> {
  const document = readFile(file);
  const names = namesAsked(document, options);
  const folder = resolve(options.outputDir);
  outsideStores(folder, "write the results to");
  const plugins = [...document.plugins, ...options.plugin ?? []].map((one) =>
    one.startsWith("npm:") ? one : resolve(one)
  );
  const { tasks } = await discoverPlugins(plugins);
  const home = findHome(Deno.env.toObject(), options.store);
  const shared = join(home.store, "experiments", basename(file).replace(/\.ya?ml$/, ""));
  const salt = saltOf(shared);
  const members = prepareMembers(document, names, {
    ...{ file, tasks: tasks.map(({ name }) => name), env: process.env, salt },
  });
  const say = (line: string) => console.error(line);
  say(planText(members));
  let begun = false;
  const { signal } = interruptible(say, () => begun, "what is answered is kept");
  await using lab = await openLab({
    ...{ command: "pare experiments", write: true, signal, onSetup: say },
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  mkdirSync(shared, { recursive: true });
  writeFileSync(join(shared, SALT), salt);
  const account = { folder: shared, file: join(shared, "account.json") };
  process.env[ACCOUNT_VARIABLE] = account.file;
  const pins_folders = lab.registry.environments;
  const client = createBackendClient({ home: lab.home.root, nursery: false, signal, pins_folders });
  const { money, tokens } = document.budget;
  const around: Surroundings = {
    ...{ lab, client, caches: openFolderCache(lab.home.cache), plugins, account, signal, say },
    budget: {
      ...(money === undefined ? {} : { money }),
      ...(tokens === undefined ? {} : { tokens }),
    },
    onEvent: (event) => announce(say, event),
  };
  begun = true;
  try {
    const write = (ends: ReadonlyMap<string, MemberEnd>) =>
      writeResults(lab, { members, ends, folder, shared, document });
    const ends = await runAll(around, members, async (ends) => void await write(ends));
    const written = await write(ends);
    console.log(written.text);
    if (!written.whole) Deno.exitCode = signal.aborted ? 130 : 1;
  } finally {
    await client.close();
  }
}
