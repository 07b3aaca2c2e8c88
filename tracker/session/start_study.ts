import {
  type Artifact,
  type Ask,
  boundedMethods,
  type EarlierTrial,
  type Facts,
  type FormatLoss,
  givenLimits,
  heldMethods,
  type JournalRecord,
  kindOf,
  type LostEvaluation,
  type Provenance,
  recoveriesOf,
  type ReplayedStudy,
  replayStudy,
  type RunPorts,
  type RunRequest,
  type Sampler,
  scoredMethods,
  setWorkers,
  type Spec,
  type StoredEvaluation,
  type StudyEvent,
  type StudyHistory,
  type StudyInput,
  type StudyLimits,
  type StudyPorts,
  type Tracker,
  UsageError,
} from "../../core/mod.ts";
import type { RunsMembers } from "../../core/runs/experiments/runs_members.ts";
import { placeRecords } from "../artifacts/artifact_places.ts";
import { idOfBytes } from "../artifacts/id_of_bytes.ts";
import { earlierTrials } from "../lab/data/earlier_trials.ts";
import { formatLosses } from "../lab/data/format_losses.ts";
import type { LabStore, StoreInUse } from "../lab/lab_store.ts";
import type { RunningMirror } from "../exchange/mlflow/start_mirror.ts";
import { studyMeter } from "../lab/runner/machine/energy_meter.ts";
import { keepLogIn } from "../lab/runner/keep_log.ts";
import { createLiveBackend } from "../lab/runner/live_backend.ts";
import { prepareStudy } from "../lab/runner/prepare_study.ts";
import { type CallRunner, createCallRunner } from "../lab/runner/call_runner.ts";
import { studyClock } from "../lab/runner/study_clock.ts";
import { shareOut } from "../lab/runner/machine/worker_share.ts";
import type { Tools, Workshop } from "../lab/runner/workshop.ts";
import { readOrSetAside } from "../store/rows/sample_file.ts";
import type { Store } from "../store/store.ts";
import { shippedRules } from "../lab/search/strategy_rules.ts";
import { chatEndpoint } from "../lab/search/chat_endpoint.ts";
import { cellInterrupt } from "../ground/terminal/interrupt.ts";

/** How long a finished study waits for its mirror, where the server answers. */
const MIRROR_MS = 20_000;

/** A study whose facts are known. */
export interface SessionInput {
  readonly tools: Tools;
  readonly store: LabStore;
  /** Null: studies are not mirrored. */
  readonly mirror: RunningMirror | null;
  readonly study_id: string;
  readonly request: RunRequest;
  readonly facts: Facts;
  /** Inferred of them; a study that goes on keeps the one that it began with. */
  readonly spec: Spec;
  readonly baseline: Artifact;
  /** The smaller model that the user named; null: none. */
  readonly student: Artifact | null;
  readonly provenance: Provenance;
  /** The command that goes on with it; undefined: the usual one. */
  readonly go_on: string | undefined;
  readonly samplers: readonly Sampler[];
  /** Limits that are set anew for a study taken up. */
  readonly limits: StudyLimits;
  /** Whether its calls run on an engine's machines, each worker's on an allocation of its own. */
  readonly elsewhere: boolean;
  /** Who runs its members; null: it has a model of its own. */
  readonly members: RunsMembers | null;
}

/** Who is asked and told while a study is open, and what cancels it. */
export interface StudyCompany {
  readonly ask: Ask;
  readonly signal: AbortSignal;
  readonly onEvent: (event: StudyEvent) => void;
}

/** A study that has the store: what its loop is given, whoever drives it. */
export interface StartedStudy {
  readonly input: StudyInput;
  readonly ports: RunPorts;
  /** Waits for the mirror, after a study that ended as it should, and gives the store back. */
  end(finished: boolean): Promise<void>;
}

/**
 * The samples of a study's evaluations, read back from the store: of each the last. A file that is not as
 * it was written is kept aside, and what it held is lost.
 */
async function evaluationsOf(
  { paths: { root } }: Pick<Store, "paths">,
  study: ReplayedStudy,
): Promise<Pick<StudyHistory, "evaluations" | "lost">> {
  const last = new Map(study.samples.map((one) => [`${one.trial_id} ${one.fidelity}`, one]));
  const evaluations: StoredEvaluation[] = [];
  const lost: LostEvaluation[] = [];
  for (const { trial_id, fidelity, path, sha256, protocol = {}, protocol_parts } of last.values()) {
    const about = { trial_id, fidelity, protocol, protocol_parts };
    const read = await readOrSetAside(root, { path, sha256 });
    if ("lost" in read) lost.push({ ...about, reason: read.lost });
    else evaluations.push({ ...about, samples: read.samples });
  }
  return { evaluations, lost };
}

/** The journal of a study replayed, with its samples; undefined where it never ran. */
export async function historyOf(
  store: Pick<Store, "paths" | "journalOf">,
  study_id: string,
): Promise<StudyHistory | undefined> {
  const records = await placeRecords(await store.journalOf(study_id), store.paths.root);
  const study = replayStudy(records, study_id);
  return study === null ? undefined : { study, ...await evaluationsOf(store, study) };
}

/** What samplers are shown of the past, and why a part of it could not be read. */
interface Past {
  readonly earlier: EarlierTrial[];
  readonly format_losses: FormatLoss[];
  readonly unread: string[];
}

/** Asks the index for what samplers are shown: one that cannot be asked shows nothing, and that is told. */
async function pastOf(
  store: Store,
  request: RunRequest,
  { facts, baseline, study_id }: SessionInput,
): Promise<Past> {
  const { earlier_studies = true } = request;
  const unread: string[] = [];
  const orTold = async <T>(what: string, asked: Promise<T[]>): Promise<T[]> => {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      unread.push(`${what}: ${error.message}`);
      return [];
    }
  };
  if (!kindOf(request).needs.earlier_studies) return { earlier: [], format_losses: [], unread };
  const earlier = earlier_studies
    ? await orTold("trials of earlier studies", earlierTrials(store, facts, study_id))
    : [];
  const losses = formatLosses(store, baseline, study_id, { others: earlier_studies });
  const format_losses = await orTold("scores of the original's layers", losses);
  return { earlier, format_losses, unread };
}

/**
 * Prepares a new study, or one that goes on, in a store that was taken for it. An interrupted cell of
 * a notebook cancels it.
 */
export async function startStudy(
  session: SessionInput,
  inUse: StoreInUse,
  company: StudyCompany,
): Promise<StartedStudy> {
  const interrupt = cellInterrupt();
  const leave = async () => {
    interrupt[Symbol.dispose]();
    await inUse[Symbol.asyncDispose]();
  };
  try {
    const signal = AbortSignal.any([company.signal, interrupt.signal]);
    const started = await prepared(session, inUse.store, { ...company, signal });
    return {
      ...started,
      async end(finished) {
        if (finished) await session.mirror?.finish(MIRROR_MS);
        await leave();
      },
    };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** The strategist's server; its key is read here and goes nowhere else. */
function chatOf({ strategist }: RunRequest): Pick<StudyPorts, "chat"> {
  if (strategist === undefined) return {};
  const key = Deno.env.get("STRATEGIST_API_KEY") || Deno.env.get("OPENAI_API_KEY");
  return { chat: chatEndpoint(strategist, key) };
}

/** The library of the sampler that has one, in that sampler's environment. */
function librariesOf(
  samplers: readonly Sampler[],
  runner: CallRunner,
): Pick<StudyPorts, "libraries"> {
  const needs = samplers.find((sampler) => sampler.needs !== undefined)?.needs;
  if (needs === undefined) return {};
  return {
    libraries: {
      suggest: (request) => runner("search", { call: "suggest", ...request }, needs.environment),
    },
  };
}

/**
 * The journal of a study: what its set-up says waits for the record that opens it, so that a study which
 * is refused leaves nothing.
 */
export function openedFirst(store: Tracker, opened: boolean): Tracker {
  const waiting: JournalRecord[] = [];
  return {
    async record(record) {
      if (!opened && record.type !== "study_opened") return void waiting.push(record);
      await store.record(record);
      opened = true;
      for (const one of waiting.splice(0)) await store.record(one);
    },
  };
}

async function prepared(
  session: SessionInput,
  inUse: Store,
  { ask, signal, onEvent }: StudyCompany,
): Promise<{ input: StudyInput; ports: RunPorts }> {
  const { tools, mirror, study_id, request, facts, spec, baseline, student, samplers } = session;
  const { registry } = tools;
  const history = await historyOf(inUse, study_id);
  const isNew = history === undefined;
  const store = mirror?.attach(inUse, { study_id, isNew }) ?? inUse;
  const workshop: Workshop = { ...tools, store };
  const journal = openedFirst(store, !isNew);
  const outOfTime = new AbortController();
  const cardless = new AbortController();
  // Elsewhere processor time is not counted, and a worker's part of a machine is its allocation.
  const meter = session.elsewhere ? undefined : studyMeter(facts.device);
  const runner = createCallRunner({
    client: workshop.client,
    study_id,
    ...(meter === undefined ? {} : { meter }),
    signal: AbortSignal.any([signal, outOfTime.signal]),
    onEvent,
    record: journal.record,
    keepLog: keepLogIn(store, study_id),
    openRun: (key) => store.openRun(key),
    timestamp: workshop.timestamp,
    stall_minutes: request.stall_minutes,
    ...(session.elsewhere ? {} : { shareOut: shareOut(setWorkers(request), facts) }),
    onNoCard: () => cardless.abort(),
  });
  const known = history?.study.opened.spec ?? spec;
  const ready = await prepareStudy(workshop, runner, {
    study_id,
    request,
    spec: known,
    facts,
    begun: history?.study.opened.facts ?? null,
  });
  const wanted = request.methods;
  // Checkpoints that the user names are tried whatever a search is kept to.
  const named = request.strategies.flatMap(({ actions }) => actions.map(({ method }) => method));
  const offered = registry.methods.filter(({ method }) =>
    wanted === undefined || wanted.includes(method.name) ||
    (method.needs.given === true && named.includes(method.name))
  );
  const held = () =>
    heldMethods(boundedMethods(offered, ready.counts), registry.runtime(known.runtime));
  const methods = kindOf(request).needs.methods ? scoredMethods(held(), known.evict_after) : [];
  const { earlier, ...past } = await pastOf(inUse, request, session);
  const input: StudyInput = {
    study_id,
    request,
    facts,
    spec: ready.spec,
    provenance: session.provenance,
    ...(session.go_on === undefined ? {} : { go_on: session.go_on }),
    methods,
    runtimes: registry.runtimes,
    recoveries: recoveriesOf(registry.agents),
    rules: shippedRules(),
    samplers,
    baseline,
    ...(history === undefined ? { earlier } : { history }),
    ...past,
    ...(givenLimits(session.limits).length === 0 ? {} : { limits: session.limits }),
    ...(session.elsewhere ? { timed_apart: true as const } : {}),
    onEvent,
  };
  const backend = createLiveBackend(workshop, ready, runner, { original: baseline, student });
  const clock = studyClock(outOfTime);
  const metered = meter === undefined ? {} : { meter };
  const outside = {
    ...{ ...metered, ...chatOf(request), ...librariesOf(samplers, runner) },
    idOfBytes: (artifact: Artifact) => idOfBytes(artifact, tools.artifacts),
    ...(session.members === null ? {} : { members: session.members }),
  };
  const stop = AbortSignal.any([signal, cardless.signal]);
  return { input, ports: { backend, tracker: journal, ask, clock, signal: stop, ...outside } };
}
