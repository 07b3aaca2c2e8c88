import { passProxyHere } from "../ground/http/this_machine.ts";
import {
  type JournalRecord,
  type Registry,
  type StudyLimits,
  type StudyRequestInput,
  UsageError,
} from "../../core/mod.ts";
import { type ArtifactStore, openArtifactStore } from "../artifacts/artifact_store.ts";
import { sharedWhereNamed } from "../artifacts/remote/shared_artifacts.ts";
import type { ServingPlan } from "../../core/serving/plan/schema.ts";
import { checkStudy } from "../lab/check_study.ts";
import { discoverPlugins } from "../lab/discover.ts";
import { findStudy, openedRecord, recordedActions, resumedRequest } from "../lab/find_study.ts";
import { checkHome, findHome, type Home } from "../ground/home.ts";
import { type QueueOptions, type Submitted, submitTo } from "../jobs/queue/submit.ts";
import { type LabMirror, openLabMirror } from "../exchange/mlflow/lab_mirror.ts";
import { type LabStore, openLabStore, type StoreInUse } from "../lab/lab_store.ts";
import { newFolders } from "../lab/new_folders.ts";
import { type Comparison, comparisonRows, studyRows } from "../show/notebook/comparison.ts";
import {
  type ShownStudies,
  showStudies,
  type StudiesReportOptions,
} from "../show/notebook/show_studies.ts";
import { forCells } from "../show/notebook/cell_mistakes.ts";
import { type PlanAsked, planModel } from "../lab/serving/plan_model.ts";
import { labsAgain, sessionsAgain } from "../show/notebook/run_again.ts";
import type { Rows } from "../show/notebook/trial_tables.ts";
import { takeNote } from "../store/take_note.ts";
import type { Store, StudySummary } from "../store/store.ts";
import { keepKernelAlive, stoppedBy } from "../ground/terminal/interrupt.ts";
import { kernelBroadcast } from "../ground/terminal/kernel.ts";
import { type Comparand, compareAny, idOf } from "../show/view/compare_any.ts";
import { type SqlRows, sqlRows } from "../show/notebook/sql_rows.ts";
import type { Value } from "../store/query/result.ts";
import { ReservedNames } from "./reserved_names.ts";
import type { StudySession } from "./study_session.ts";
import { viewStudy } from "../show/view/view_study.ts";
import type { StudyView } from "../show/view/study_view.ts";
import { scoreInLab, type StudyAnswersToScore, type TrialScored } from "./score_study.ts";
import { setUp } from "./set_up_study.ts";
import { engineOfLab } from "../jobs/workers/lab_engine.ts";
import type { Opened, SetUpOptions } from "./study_tools.ts";

/** What may stand in `${}` of a query. */
export type SqlValue = string | number | boolean | null;

/** How a lab is opened. Everything has a default. */
export interface LabOptions extends SetUpOptions {
  /** The store's folder; default `store/` in PARE_HOME. */
  readonly store?: string;
  /** A folder for all that is made, in place of PARE_HOME's: only environments are shared. */
  readonly fresh?: string;
  /**
   * Opens the store for writing at once, so that one which cannot be written is refused before minutes of
   * set-up; default: only while a study runs.
   */
  readonly write?: boolean;
  /** The MLflow server that studies are mirrored to; default: MLFLOW_TRACKING_URI, else none. */
  readonly mlflow?: string;
  /** Told once of each thing that MLflow has otherwise than expected; default: standard error. */
  readonly onMirror?: (sentence: string) => void;
  /** Whether cells may be run twice: what is open then comes back; default: in a notebook's kernel. */
  readonly notebook?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Where studies are opened, resumed and looked at; the door for notebooks and the command line. In a
 * notebook one that was closed opens again for a cell that asks it, or a session of it, for work.
 */
export interface Lab {
  readonly home: Home;
  readonly registry: Registry;
  readonly store: LabStore;
  /** The mirror of its studies to an MLflow server. */
  readonly mlflow: LabMirror;
  /**
   * Inspects model and dataset and infers the spec; nothing is written until it runs. The same request
   * again, as of a notebook's cell that is run twice, gives the session that it gave.
   */
  open(request: StudyRequestInput, name?: string): Promise<StudySession>;
  /**
   * Puts a study in line beside the store, for `pare queue work` or a board to run; gives its job. The
   * same `submission_id` again adds nothing.
   */
  queue(request: StudyRequestInput, options?: QueueOptions): Promise<Submitted>;
  /**
   * Takes up a study that was stopped, the latest where none is named; limits may be set anew, and
   * checkpoints of its model that were made elsewhere added, by path or hub name: the last strategies
   * of its request are those.
   */
  resume(
    study_id?: string,
    limits?: StudyLimits,
    add?: readonly string[],
  ): Promise<StudySession>;
  /** A study as its journal tells it; the latest where none is named. */
  view(study_id?: string): Promise<StudyView>;
  studies(): Promise<Rows<StudySummary>>;
  /** Two trials sample by sample, or two studies by what they came to: ids, or what has one. */
  compare(first: Comparand, second: Comparand): Promise<Comparison>;
  /** One report over several studies, as `pare report A B` writes it: ids, or what has one. */
  report(studies: readonly Comparand[], options?: StudiesReportOptions): Promise<ShownStudies>;
  /**
   * Scores the answers that a study keeps of a task again, by the task's own scorers or another, without
   * the model; what it came to stands beside the earlier scores, which stay.
   */
  score(
    study_id: string | undefined,
    asked: StudyAnswersToScore,
  ): Promise<TrialScored[]>;
  /** A sentence that stays with a study or a trial, also while a study runs. Says what became of it. */
  note(target: Comparand, text: string): Promise<string>;
  /** Asks the store in SQL; values in `${}` are bound, never spliced. A notebook shows a table. */
  sql<Row = Record<string, Value>>(
    text: TemplateStringsArray,
    ...values: SqlValue[]
  ): Promise<SqlRows<Row>>;
  /**
   * What it takes to serve a model on cards: weights, cache, every spread that fits, and each server's
   * command, as `pare plan` tells it. A trial of this lab is a model, too; nothing is started.
   */
  plan(asked: PlanAsked): Promise<ServingPlan>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the lab: plugins, store, artifacts, and the door to Python. In a notebook a lab on the same
 * store that is open already comes back, as of a cell that is run twice.
 *
 * ```ts
 * await using lab = await openLab({ store: await Deno.makeTempDir() });
 * const studies = await lab.studies(); // none yet: lab.open({ model_name, dataset }) begins one
 * console.assert(studies.length === 0);
 * ```
 */
export async function openLab(options: LabOptions = {}): Promise<Lab> {
  passProxyHere();
  return isNotebook(options) ? await labAgain(options) : await makeLab(options);
}

function isNotebook({ notebook }: LabOptions): boolean {
  return notebook ?? kernelBroadcast() !== null;
}

/** The name of what a lab works with, for the sessions of one that was closed. */
const OPENED = Symbol("what a lab has opened");

interface OwnLab extends Lab {
  readonly [OPENED]: Opened;
}

const labAgain = labsAgain<OwnLab, LabOptions>(
  ({ store }) => findHome(Deno.env.toObject(), store).store,
  makeLab,
  (lab) => forCells("lab", lab),
);

async function makeLab(options: LabOptions): Promise<OwnLab> {
  const home = findHome(Deno.env.toObject(), options.store, options.fresh);
  const folders = newFolders(home);
  const registry = await discoverPlugins();
  const mlflow = openLabMirror(home, options.mlflow, Deno.env.toObject(), options.onMirror);
  const store = openLabStore(home.store);
  const write = options.write === true;
  let held: StoreInUse | null;
  let artifacts: ArtifactStore;
  try {
    await checkHome(home, write);
    held = write ? await store.use() : null;
    const own = await openArtifactStore(home.artifacts, { store: home.store });
    artifacts = sharedWhereNamed(own, Deno.env.toObject(), options.signal);
  } catch (error) {
    await mlflow[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    folders.removeUnused();
    throw error;
  }
  keepKernelAlive();
  const stop = stoppedBy(options.signal);
  const names = new ReservedNames(home.store, write);
  const sessions = sessionsAgain<StudySession>(isNotebook(options), (s) => forCells("study", s));
  const opened: Opened = {
    ...{ options, home, registry, mlflow, store, artifacts, stop, clients: new Map() },
    engine: engineOfLab(home, options, options.onSetup ?? (() => {})),
    now: async () =>
      stop.signal.aborted && isNotebook(options) ? (await labAgain(options))[OPENED] : opened,
  };
  const close = async () => {
    await store.endStudies();
    stop.abort();
    await Promise.all([...opened.clients.values()].map((client) => client.close()));
    artifacts.close();
    await mlflow[Symbol.asyncDispose]();
    await held?.[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    names.giveBack();
    folders.removeUnused();
  };
  return {
    [OPENED]: opened,
    home,
    registry,
    store,
    mlflow,
    async open(input, name) {
      const begin = async () => {
        const request = checkStudy(input, "study");
        return await setUp(opened, request, name ?? names.of(request));
      };
      return await sessions(JSON.stringify([name, input]), begin);
    },
    queue: (request, asked = {}) => submitTo(store.root, request, asked),
    async resume(study_id, limits = {}, add = []) {
      const { store: there, id } = await findStudy(await store.current(), study_id);
      const take = async () => await takeUp(opened, await there.journalOf(id), id, limits, add);
      return await sessions(JSON.stringify(["resume", id, limits, add]), take);
    },
    async view(study_id) {
      const { store: there, id } = await findStudy(await store.current(), study_id);
      return await viewStudy(there, id);
    },
    studies: async () => studyRows(await (await store.current())?.studies() ?? []),
    async compare(first, second) {
      const there = await recorded(store, "compare anything in");
      return comparisonRows(await compareAny(there, [first, second], (id) => viewStudy(there, id)));
    },
    report: async (studies, asked) =>
      await showStudies(await recorded(store, "report over studies of"), studies, asked),
    score: async (study_id, asked) => await scoreInLab(await opened.now(), study_id, asked),
    note: async (target, text) =>
      await noted(await recorded(store, "note anything in"), idOf(target), text),
    sql: (text, ...values) => asked(store, text, values),
    plan: (asked) => planModel({ store: store.root, ...asked }, Deno.env.toObject()),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Sets a recorded study up again, with other limits and checkpoints that are added. */
async function takeUp(
  opened: Opened,
  records: readonly JournalRecord[],
  id: string,
  limits: StudyLimits,
  add: readonly string[],
): Promise<StudySession> {
  const begun = openedRecord(records, id);
  const again = resumedRequest(begun.request, limits, id, add);
  return await setUp(opened, again, id, { limits, begun, actions: recordedActions(records) });
}

async function noted(store: Store, name: string, text: string): Promise<string> {
  await takeNote(store, name, text);
  return `noted for ${name}`;
}

/** The store, once there is something in it. */
async function recorded(store: LabStore, what: string): Promise<Store> {
  const there = await store.current();
  if (there !== null) return there;
  throw new UsageError(`Cannot ${what} the store ${store.root} as nothing is recorded there yet`);
}

async function asked<Row>(
  store: LabStore,
  text: TemplateStringsArray,
  values: readonly SqlValue[],
): Promise<SqlRows<Row>> {
  if (!Array.isArray(text)) { // a notebook's cells are not checked for types
    throw new UsageError(
      "Cannot ask that, as sql is no function of a text: write lab.sql`SELECT …`, with backticks right " +
        "after its name, so that values in ${} are bound",
    );
  }
  const statement = text.reduce((sum, part, i) => `${sum}$${i}${part}`);
  const there = await recorded(store, "ask");
  return sqlRows<Row>(await there.wholeQuery(statement, { params: [...values] }));
}
