import { join } from "node:path";
import {
  type Ask,
  type Facts,
  isDecisive,
  type JournalRecord,
  runEvaluation,
  runStudy,
  type Spec,
  type StudyEvent,
  type StudyRequest,
  type StudyResult,
  UsageError,
} from "../core/mod.ts";
import { type SessionInput, startStudy, type StudyCompany } from "./start_study.ts";
import { readSamples } from "./store/rows/sample_file.ts";
import type { Store } from "./store/store.ts";
import { type LabStudyByHand, openLabStudyByHand } from "./study_by_hand.ts";
import { kernelBroadcast } from "./terminal/kernel.ts";
import { notebookAsk, silentAsk } from "./terminal/ask.ts";
import {
  type LayerSensitivity,
  type SensitivityOptions,
  studySensitivity,
} from "./sensitivity/study_sensitivity.ts";
import { buildView } from "./view/build_view.ts";
import type { StudyView } from "./view/study_view.ts";

/** What `run` and `byHand` may be told. */
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
  /** Opens it, or takes it up, to be driven by hand; it has the store until it is closed. */
  byHand(options?: RunStudyOptions): Promise<LabStudyByHand>;
  /** What each format would cost each layer of the original, the layer alone in it. */
  sensitivity(options?: SensitivityOptions): Promise<LayerSensitivity[]>;
  /** Everything known of it so far, from the journal. */
  view(): Promise<StudyView>;
}

/** In a notebook its reader can be asked; a script has nobody. */
function defaultAsk(): Ask {
  return kernelBroadcast() === null ? silentAsk() : notebookAsk();
}

/** A study as its journal tells it, whether or not it is open in this process. */
export async function viewStudy(store: Store | null, study_id: string): Promise<StudyView> {
  const records: JournalRecord[] = await store?.journalOf(study_id) ?? [];
  const root = store?.paths.root ?? "";
  return await buildView(study_id, records, async (trialId) => {
    const written = records.findLast((record) =>
      record.type === "samples_written" && record.trial_id === trialId &&
      record.stage === undefined &&
      isDecisive(record.fidelity)
    );
    if (written?.type !== "samples_written") return null;
    return await readSamples(join(root, written.path), written.sha256);
  });
}

/** Makes the session of a study whose facts are known. */
export function openSession(input: SessionInput): StudySession {
  const { study_id, request, facts, spec } = input;
  const onlyEvaluates = request.evaluation !== undefined;
  return {
    study_id,
    request,
    facts,
    spec,
    view: async () => await viewStudy(await input.store.current(), study_id),
    sensitivity: (options) => studySensitivity(input, options),
    run: (options = {}) => runSession(input, companyOf(options)),
    async byHand(options = {}) {
      if (!onlyEvaluates) return await openLabStudyByHand(input, companyOf(options));
      throw new UsageError(`Cannot drive ${study_id} by hand as it only evaluates: call run()`);
    },
  };
}

function companyOf({ ask, signal, onEvent }: RunStudyOptions): StudyCompany {
  return {
    ask: ask ?? defaultAsk(),
    signal: signal ?? new AbortController().signal,
    onEvent: onEvent ?? (() => {}),
  };
}

/** The study from its start to its end by the coordinator; a lab that is closed cancels it. */
async function runSession(
  session: SessionInput,
  company: StudyCompany,
): Promise<StudyResult> {
  const stop = new AbortController();
  const ended = Promise.withResolvers<void>();
  const end = () => {
    stop.abort();
    return ended.promise;
  };
  const inUse = await session.store.use({ study_id: session.study_id, end });
  try {
    const signal = AbortSignal.any([company.signal, stop.signal]);
    const started = await startStudy(session, inUse, { ...company, signal });
    let finished = false;
    try {
      const loop = session.request.evaluation === undefined ? runStudy : runEvaluation;
      const result = await loop(started.input, started.ports);
      finished = true;
      return result;
    } finally {
      await started.end(finished);
    }
  } finally {
    ended.resolve();
  }
}
