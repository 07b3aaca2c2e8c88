import { join } from "node:path";
import {
  type Artifact,
  type Ask,
  boundedMethods,
  type EarlierTrial,
  evaluationSpec,
  type Facts,
  givenLimits,
  heldMethods,
  inferSpec,
  type JournalRecord,
  type Provenance,
  type ReplayedStudy,
  replayStudy,
  runEvaluation,
  runStudy,
  type Spec,
  type StoredEvaluation,
  type StudyEvent,
  type StudyHistory,
  type StudyLimits,
  type StudyRequest,
  type StudyResult,
} from "../core/mod.ts";
import { earlierTrials } from "./data/earlier_trials.ts";
import { keepLogIn } from "./runner/keep_log.ts";
import { createLiveBackend } from "./runner/live_backend.ts";
import { prepareStudy } from "./runner/prepare_study.ts";
import { createStageRunner } from "./runner/stage_runner.ts";
import { studyClock } from "./runner/study_clock.ts";
import type { Tools, Workshop } from "./runner/workshop.ts";
import type { LabStore } from "./lab_store.ts";
import { readSamples } from "./store/rows/sample_file.ts";
import type { RunningMirror } from "./mlflow/start_mirror.ts";
import type { Store } from "./store/store.ts";
import { kernelBroadcast } from "./terminal/kernel.ts";
import { notebookAsk, silentAsk } from "./terminal/ask.ts";
import { buildView } from "./view/build_view.ts";
import type { StudyView } from "./view/study_view.ts";

/** Who proposes after the seeds where the request names nobody. */
const DEFAULT_SAMPLER = "pareto_neighbourhood";

/** How long a finished study waits for its mirror, where the server answers. */
const MIRROR_MS = 20_000;

/** What `run` may be told. */
export interface RunStudyOptions {
  /** Who is asked for what the request leaves open; default: the notebook's reader, else the defaults are taken. */
  readonly ask?: Ask;
  /** Ends the study cleanly; it can be resumed. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: StudyEvent) => void;
}

/** One study: inspected, its spec inferred, ready to run or to go on. */
export interface StudySession {
  readonly study_id: string;
  readonly request: StudyRequest;
  readonly facts: Facts;
  readonly spec: Spec;
  run(options?: RunStudyOptions): Promise<StudyResult>;
  /** Everything known of it so far, from the journal. */
  view(): Promise<StudyView>;
}

export interface SessionInput {
  readonly tools: Tools;
  readonly store: LabStore;
  /** Null: studies are not mirrored. */
  readonly mirror: RunningMirror | null;
  readonly study_id: string;
  readonly request: StudyRequest;
  readonly facts: Facts;
  readonly baseline: Artifact;
  readonly provenance: Provenance;
  /** Limits that are set anew for a study taken up. */
  readonly limits: StudyLimits;
}

/** In a notebook its reader can be asked; a script has nobody. */
function defaultAsk(): Ask {
  return kernelBroadcast() === null ? silentAsk() : notebookAsk();
}

/** The samples of a study's evaluations, read back from the store. */
async function evaluationsOf(
  store: Store,
  study: ReplayedStudy,
): Promise<StoredEvaluation[]> {
  const root = store.paths.root;
  return await Promise.all(study.samples.map(async (record) => ({
    trial_id: record.trial_id,
    fidelity: record.fidelity,
    samples: await readSamples(join(root, record.path), record.sha256),
    protocol: record.protocol ?? {},
    protocol_parts: record.protocol_parts,
  })));
}

/** The journal of a study replayed, with its samples; undefined where it never ran. */
async function historyOf(
  store: Store,
  study_id: string,
): Promise<StudyHistory | undefined> {
  const study = replayStudy(await store.journalOf(study_id), study_id);
  return study === null ? undefined : { study, evaluations: await evaluationsOf(store, study) };
}

/** What samplers are shown of earlier studies; an index that cannot be asked shows nothing. */
async function earlierOf(
  store: Store,
  { earlier_studies = true, evaluation }: StudyRequest,
  facts: Facts,
  study_id: string,
): Promise<EarlierTrial[]> {
  if (!earlier_studies || evaluation !== undefined) return [];
  return await earlierTrials(store, facts, study_id).catch(() => []);
}

/** A study as its journal tells it, whether or not it is open in this process. */
export async function viewStudy(store: Store | null, study_id: string): Promise<StudyView> {
  const records: JournalRecord[] = await store?.journalOf(study_id) ?? [];
  const root = store?.paths.root ?? "";
  return await buildView(study_id, records, async (trialId) => {
    const written = records.findLast((record) =>
      record.type === "samples_written" && record.trial_id === trialId &&
      record.stage === undefined &&
      record.fidelity === "full"
    );
    if (written?.type !== "samples_written") return null;
    return await readSamples(join(root, written.path), written.sha256);
  });
}

/** Makes the session of a study whose facts are known. */
export function openSession(input: SessionInput): StudySession {
  const { tools, mirror, study_id, request, facts, baseline, provenance } = input;
  const { registry } = tools;
  const onlyEvaluates = request.evaluation !== undefined;
  const spec = (onlyEvaluates ? evaluationSpec : inferSpec)(request, facts, registry);

  return {
    study_id,
    request,
    facts,
    spec,
    view: async () => await viewStudy(await input.store.current(), study_id),
    async run(
      { ask = defaultAsk(), signal = new AbortController().signal, onEvent = () => {} } = {},
    ) {
      await using inUse = await input.store.use();
      const history = await historyOf(inUse.store, study_id);
      const isNew = history === undefined;
      const store = await mirror?.attach(inUse.store, { study_id, isNew }) ?? inUse.store;
      const workshop: Workshop = { ...tools, store };
      const outOfTime = new AbortController();
      const runner = createStageRunner({
        client: workshop.client,
        study_id,
        signal: AbortSignal.any([signal, outOfTime.signal]),
        onEvent,
        record: (record) => store.record(record),
        keepLog: keepLogIn(store, study_id),
        timestamp: workshop.timestamp,
        stall_minutes: request.stall_minutes,
      });
      const known = history?.study.opened.spec ?? spec;
      const prepared = await prepareStudy(workshop, runner, {
        study_id,
        request,
        spec: known,
        facts,
        begun: history?.study.opened.facts ?? null,
      });
      const wanted = request.methods;
      const result = await (onlyEvaluates ? runEvaluation : runStudy)({
        study_id,
        request,
        facts,
        spec: prepared.spec,
        provenance,
        methods: onlyEvaluates ? [] : heldMethods(
          boundedMethods(
            registry.methods.filter(({ method }) =>
              wanted === undefined || wanted.includes(method.name)
            ),
            prepared.counts,
          ),
          registry.runtime(known.runtime),
        ),
        samplers: [registry.sampler(request.sampler ?? DEFAULT_SAMPLER)],
        baseline,
        ...(history === undefined
          ? { earlier: await earlierOf(inUse.store, request, facts, study_id) }
          : { history }),
        ...(givenLimits(input.limits).length === 0 ? {} : { limits: input.limits }),
        onEvent,
      }, {
        backend: createLiveBackend(workshop, prepared, runner),
        tracker: store,
        ask,
        clock: studyClock(outOfTime),
        signal,
      });
      await mirror?.finish(MIRROR_MS);
      return result;
    },
  };
}
