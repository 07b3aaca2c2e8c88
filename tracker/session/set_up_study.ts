import {
  type Action,
  type Facts,
  kindOf,
  memoryRefusal,
  type Registry,
  type RunRequest,
  type Spec,
  type StudyLimits,
  UsageError,
} from "../../core/mod.ts";
import { ensureDemoModel } from "../../python-backends/demo_model.ts";
import { usedHash } from "../../python-backends/environments/environments.ts";
import { hasGpu } from "../../python-backends/environments/torch_wheel.ts";
import { untilInterrupted } from "../ground/terminal/interrupt.ts";
import { SHARED_BY, shareNamed } from "../artifacts/remote/shared_artifacts.ts";
import { withAsked, withWorkers } from "../jobs/workers/asked_workers.ts";
import { checkRequest, checkWorkers } from "../lab/check_request.ts";
import { withEarlierLadder } from "../lab/data/earlier_ladder.ts";
import { withFoundTasks } from "../lab/data/find_tasks.ts";
import { type ReadDataset, readDataset } from "../lab/data/inspect_dataset.ts";
import { discoverPlugins } from "../lab/discover.ts";
import { modelReads } from "../lab/model_reads.ts";
import { withGiven } from "../lab/given/given_checkpoints.ts";
import { requireOwnCode } from "../lab/given/own_code.ts";
import { provenanceOf } from "../lab/provenance.ts";
import type { CallRunner } from "../lab/runner/call_runner.ts";
import { budgetRefusal } from "../lab/runner/machine/energy_meter.ts";
import { gatherFacts } from "../lab/runner/gather_facts.ts";
import type { WorkersAsked } from "../jobs/workers/worker_client.ts";
import { originalSpeeds, timingsDecide } from "../lab/runner/original_speeds.ts";
import {
  makeEnvironments,
  makeTimedRuntimes,
  neededEnvironments,
} from "../lab/runner/study_environments.ts";
import type { Tools } from "../lab/runner/workshop.ts";
import { studySamplers } from "../lab/search/study_samplers.ts";
import { runRefusal } from "../store/shelf/run_writer.ts";
import { runOwner } from "../store/shelf/writers.ts";
import { openMembers } from "./experiments/run_members.ts";
import { LabStudy } from "./lab_study.ts";
import { workersAsked } from "../jobs/workers/lab_engine.ts";
import type { SessionInput } from "./start_study.ts";
import { openSession, type StudySession } from "./study_session.ts";
import { type Opened, studyTools } from "./study_tools.ts";

/** A request with what it names, read once: its plugins and its dataset. */
interface AskedStudy {
  readonly request: RunRequest;
  readonly registry: Registry;
  readonly dataset: ReadDataset;
}

/** A package's plugin is fetched by Deno, which cannot be told to leave that for one import. */
function refuseFetchedPlugins(plugins: readonly string[]): void {
  const fetched = plugins.find((one) => one.startsWith("npm:"));
  if (fetched === undefined) return;
  throw new UsageError(
    `Cannot load the plugin ${fetched} with --offline as it may have to be fetched: name its file`,
  );
}

/** Reads what a request names; `own`: the lab's plugins, for one that brings none. */
export async function readRequest(own: Registry, request: RunRequest): Promise<AskedStudy> {
  if (request.offline === true) refuseFetchedPlugins(request.plugins);
  const registry = request.plugins.length === 0 ? own : await discoverPlugins(request.plugins);
  return { request, registry, dataset: await readDataset(request.dataset) };
}

/**
 * The tools of a study and what runs its calls, with the tasks that its dataset names; what cannot run
 * here is refused.
 */
export async function checkedTools(
  opened: Opened,
  setting_up: AbortSignal,
  study_id: string,
  { request, registry: loaded, dataset }: AskedStudy,
  workers: WorkersAsked | null = null,
): Promise<{ tools: Tools; runner: CallRunner }> {
  const { tools, runner } = studyTools(
    ...[opened, setting_up, study_id, loaded, request, workers] as const,
  );
  const registry = await withFoundTasks(request, dataset, loaded, runner);
  checkRequest(request, dataset.facts, registry, await modelReads(request));
  const runtime = request.runtime === undefined ? null : registry.runtime(request.runtime);
  if (runtime?.needs.gpu === true && !await hasCard(workers)) {
    throw new UsageError(
      `Cannot measure speed in ${runtime.name} here: it needs an NVIDIA GPU, and nvidia-smi finds ` +
        "none; leave --runtime out for the best one that runs here",
    );
  }
  return { tools: { ...tools, registry }, runner };
}

/** Whether what runs a study's calls has a card. */
function hasCard(workers: WorkersAsked | null): Promise<boolean> {
  return workers === null ? hasGpu() : Promise.resolve(workers.slots.gpu > 0);
}

/** A study that goes on. */
interface TakenUp {
  /** Set anew. */
  readonly limits?: StudyLimits;
  /** What it began with. */
  readonly begun?: { readonly spec: Spec; readonly facts: Facts };
  /** Actions of the trials that it has begun. */
  readonly actions?: readonly Action[];
}

/** Refuses a study that another process writes before minutes of set-up, and not behind them. */
function requireNotWritten(root: string, study_id: string): void {
  const owner = runOwner(root, study_id);
  if (owner !== null && owner.pid !== Deno.pid) throw new UsageError(runRefusal(root, study_id));
}

/**
 * The set-up of a study, which the lab's end and an interrupted cell stop. A session whose lab was
 * closed is set up again by the call that needs it.
 */
export async function setUp(
  opened: Opened,
  request: RunRequest,
  study_id: string,
  taken: TakenUp = {},
): Promise<StudySession> {
  requireNotWritten(opened.store.root, study_id);
  checkWorkers(withAsked(request, opened.options));
  const inputOf = (within: Opened) =>
    untilInterrupted(within.stop.signal, async (setting_up) => {
      const named = [request.model_name, request.dataset];
      await shareNamed(within.artifacts, named, Deno.env.toObject(), setting_up);
      const asked = await readRequest(within.registry, withAsked(request, within.options));
      return await sessionInput(within, setting_up, asked, study_id, taken);
    });
  let within = await opened.now();
  let input = await inputOf(within);
  const now = async () => {
    const there = await opened.now();
    if (there !== within) [within, input] = [there, await inputOf(there)];
    return input;
  };
  return openSession(new LabStudy(input, now));
}

const openMember: Parameters<typeof openMembers>[1] = (opened, request, study_id, begun) =>
  setUp(opened, request, study_id, begun === undefined ? {} : { begun });

/** Refuses to go on where the engine's machines are of another kind than the study was timed on. */
function refuseOtherMachine(
  { engine }: WorkersAsked,
  study_id: string,
  begun: Facts,
  { device }: Facts,
): void {
  const { device_name } = begun.device;
  if (device_name === device.device_name) return;
  throw new UsageError(
    `Cannot go on with ${study_id} on ${engine.name} as its machine is ${device.device_name} and the ` +
      `study's was ${device_name}: figures of two kinds of machine are not ranked`,
  );
}

/** Looks at model and machine, infers the spec, and makes the environments. */
async function sessionInput(
  opened: Opened,
  setting_up: AbortSignal,
  asked: AskedStudy,
  study_id: string,
  { limits = {}, begun, actions = [] }: TakenUp,
): Promise<SessionInput> {
  const { home, store, mlflow, options } = opened;
  const workers = await workersAsked(await opened.engine(), asked.request);
  const { given: theirs } = workers ?? {};
  if (theirs !== undefined) {
    const env = { ...Deno.env.toObject(), [SHARED_BY]: theirs.objects };
    await shareNamed(opened.artifacts, theirs.paths, env, setting_up);
  }
  const { tools, runner } = await checkedTools(opened, setting_up, study_id, asked, workers);
  const { registry } = tools;
  const { model_name, student: smaller, offline = false } = asked.request;
  const say = options.onSetup ?? (() => {});
  const gguf = model_name === "demo" || smaller === "demo"
    ? await ensureDemoModel(home.root, { offline, onProgress: say, signal: setting_up })
    : undefined;
  // A study that goes on keeps the answer that it began with.
  const chosen = options.chooseRuntimes ?? "yes";
  const times = chosen !== "no" && kindOf(asked.request).needs.timed && begun === undefined &&
    timingsDecide();
  const kept_only = chosen === "kept";
  if (times && !kept_only && !await hasCard(workers)) {
    await makeTimedRuntimes(tools.client, registry, say);
  }
  const start = await gatherFacts(tools, runner, asked.request, asked.dataset.facts, gguf);
  const { baseline, student } = start;
  if (workers !== null && begun !== undefined) {
    refuseOtherMachine(workers, study_id, begun.facts, start.facts);
  }
  const { facts: found, ...given } = await withGiven(tools, runner, {
    ...{ request: asked.request, facts: start.facts, baseline, begun: actions },
    known: begun?.facts.given ?? [],
  });
  const laddered = await withEarlierLadder(given.request, found, study_id, store);
  const { assumptions } = laddered;
  const counted = { facts: found, elsewhere: workers, options, begun: begun !== undefined };
  const request = withWorkers(laddered.request, counted);
  const refusal = memoryRefusal(found) ?? budgetRefusal(request, found.device);
  if (refusal !== null) throw new UsageError(refusal);
  const kind = kindOf(request);
  await requireOwnCode(registry, runner, request, found);
  // What it refuses is refused before the original is timed, and what times nothing needs no faster runtime.
  const foretold = times ? kind.spec(request, found, registry) : null;
  const timed = foretold !== null && foretold.untimed === undefined
    ? await originalSpeeds({ tools, runner, request, facts: found, baseline, say, kept_only })
    : {};
  const facts = { ...found, ...timed };
  const inferred = kind.spec(request, facts, registry);
  const spec = {
    ...inferred,
    assumptions: [...inferred.assumptions, ...given.assumptions, ...assumptions],
    warnings: [...inferred.warnings, ...given.warnings],
  };
  const samplers = studySamplers(request, registry);
  const needed = neededEnvironments(registry, begun?.spec ?? spec, kind.needs, samplers);
  if (!kept_only) await makeEnvironments(tools.client, needed);
  const hashes = Object.fromEntries(
    [...needed.keys()].map((name) => [name, usedHash(name, registry.environments.get(name))]),
  );
  const provenance = await provenanceOf(options.command ?? "notebook", facts.model, hashes);
  return {
    ...{ tools, store, mirror: mlflow.mirror, study_id, request, facts, spec },
    ...{ baseline, student, samplers, provenance, limits, elsewhere: workers !== null },
    go_on: options.goOn?.(study_id),
    members: kind.needs.model ? null : openMembers(opened, openMember),
  };
}
