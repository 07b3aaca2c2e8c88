import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  type AnswersScored,
  type CallResult,
  isLikelihoodRung,
  type JournalRecord,
  type Judge,
  type Registry,
  replayStudy,
  type SampleResult,
  type ScoredTask,
  ScoreRow,
  type Spec,
  unknownName,
  UsageError,
  type WireScorer,
  wireScorer,
  type WireTask,
  withNewestScores,
} from "../../core/mod.ts";
import { findStudy, openedRecord } from "../lab/find_study.ts";
import { isWritten, rubricScorer } from "../lab/judging/judged_tasks.ts";
import { withRubric } from "../lab/judging/rubrics.ts";
import { wireTasks } from "../lab/runner/task_data.ts";
import { type CallRunner, refusal } from "../lab/runner/call_runner.ts";
import { callSource } from "../lab/runner/source_closure.ts";
import {
  type ScoreDifference,
  scoreDifference,
  scoredRows,
} from "../lab/scoring/score_differences.ts";
import { type FileScored, scoredAgainRecord } from "../lab/scoring/scored_again_record.ts";
import { scoredRecord } from "../lab/scoring/scored_record.ts";
import { readKept } from "../store/rows/kept_file.ts";
import { readSamples } from "../store/rows/sample_file.ts";
import type { Store } from "../store/store.ts";
import { checkedTools, readRequest } from "./set_up_study.ts";
import type { Opened } from "./study_tools.ts";

/** Which answers are scored again, and by what. */
export interface AnswersToScore {
  readonly task: string;
  /** Default: the task's own scorers. */
  readonly scorer?: string;
  /** Its knobs. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** What a scorer asks that needs a judge. */
  readonly judge?: Judge;
  /** Further judges, whose majority counts. */
  readonly panel?: readonly Judge[];
}

/** What scoring the answers of a trial on a rung again came to. */
export interface TrialScored extends ScoreDifference {
  readonly trial_id: string;
  readonly fidelity: string;
  readonly task: string;
  readonly scorer: string;
  readonly scorer_version: string;
  readonly metric: string;
  /** Why it stands beside the task's own figure; null: it counts from now on. */
  readonly beside_because: string | null;
  /** Scorer and version of the earlier figure; null: there is none. */
  readonly earlier_by: string | null;
}

type Written = Extract<JournalRecord, { type: "samples_written" }>;

/** What is known of a study whose answers are scored. */
export interface StudyToScore {
  readonly study_id: string;
  readonly store: Store;
  /** With the plugins of the study and its found tasks. */
  readonly registry: Registry;
  readonly runner: CallRunner;
  /** ISO 8601. */
  readonly timestamp: () => string;
}

/** The scorers that are asked for, each with its knobs. */
function scorersOf(
  wire: WireTask,
  { scorer, params = {}, judge, task }: AnswersToScore,
  registry: Registry,
): WireScorer[] {
  if (scorer === undefined) {
    if (Object.keys(params).length > 0) {
      throw new UsageError(`Cannot set ${Object.keys(params).join(", ")} without --scorer`);
    }
    return wire.scorers.filter(({ judges }) => !judges || judge !== undefined);
  }
  const own = registry.task(task).scorers.find((one) => one.scorer === scorer)?.params ?? {};
  const found = registry.scorer(scorer);
  if (found.judges === true && judge === undefined) {
    throw new UsageError(
      `Cannot score ${task} by ${scorer} as it asks a judge: name one by --judge-endpoint`,
    );
  }
  return [withRubric(wireScorer(found, { params: { ...own, ...params } }, wire.reported_metric))];
}

/** The samples files of a task that are of finished evaluations, the last of each trial and rung. */
function filesOf(records: readonly JournalRecord[], spec: Spec, task: string): Written[] {
  const last = new Map<string, Written>();
  for (const record of records) {
    if (record.type !== "samples_written" || record.action_index !== undefined) continue;
    if (isLikelihoodRung(spec, record.fidelity)) continue; // answers of the original, not its own
    if (record.protocol !== undefined && record.protocol[task] === undefined) continue;
    last.set(`${record.trial_id} ${record.fidelity}`, record);
  }
  return [...last.values()];
}

/** What these answers scored before by a metric: the last scoring by this scorer, else the evaluation. */
async function earlierOf(
  { store }: StudyToScore,
  records: readonly JournalRecord[],
  file: Written,
  scored: ScoredTask,
  { metric, reported, own, samples }: {
    metric: string;
    /** By which the samples themselves are scored. */
    reported: string | undefined;
    own: string;
    samples: readonly SampleResult[];
  },
) {
  const again = records.findLast((one): one is AnswersScored =>
    one.type === "scored" && one.trial_id === file.trial_id && one.fidelity === file.fidelity &&
    one.task === scored.task && one.scorer === scored.scorer && one.samples_sha256 === file.sha256
  );
  if (again !== undefined) {
    const path = join(store.paths.root, again.scores.path);
    const rows = await readKept(path, again.scores.sha256, ScoreRow, "score");
    const by = `${again.scorer} ${again.scorer_version}`;
    return { by, scores: scoredRows(rows, metric, samples) };
  }
  if (metric !== reported) return null;
  const by = file.protocol_parts?.[scored.task]?.["scorer"]?.split(" ").slice(0, 2).join(" ");
  return { by: by ?? `${own} 1`, scores: samples }; // as protocols of first versions name none
}

/**
 * What judges and sandboxes said of a task's answers, in the folder of the samples until all of it is
 * recorded: a scoring that was killed asks for no verdict twice, and a later one asks anew.
 */
function verdictsFile(folder: string, task: string): string {
  const made_by = `${task} ${callSource("score.py")}`;
  const name = createHash("sha256").update(made_by).digest("hex").slice(0, 16);
  return join(folder, `scoring-${name}.jsonl`);
}

async function run(
  { runner }: StudyToScore,
  request: Parameters<CallRunner>[1] & { call: "score" },
  folder: string,
): Promise<CallResult<"score">> {
  const outcome = await runner("score", request, "default");
  if (outcome.ok) return outcome.value;
  const begun = request.files.map(({ output_name }) => output_name);
  for (const name of await readdir(folder)) {
    if (begun.some((one) => name.startsWith(`${one}.`))) await rm(join(folder, name));
  }
  throw refusal(outcome.failure);
}

/** Records what each scorer came to in all files at once; gives why it stands beside, by its name. */
async function recordAgain(
  { store, study_id }: StudyToScore,
  wire: WireTask,
  byScorer: readonly FileScored[][],
  records: readonly JournalRecord[],
  at: string,
): Promise<Map<string, string | null>> {
  const { spec, facts } = openedRecord(records, study_id);
  const beside = new Map<string, string | null>();
  const known = [...records];
  for (const files of byScorer) {
    const { trials } = withNewestScores(replayStudy(known, study_id)!); // it is opened
    const record = scoredAgainRecord({ study_id, spec, facts, trials }, wire, files, at);
    await store.record(record);
    known.push(record);
    beside.set(record.scorer, record.beside_because);
  }
  return beside;
}

/**
 * Scores the answers that a study keeps of a task again, without the model: a record and rows for each
 * trial, rung and scorer beside the earlier ones, which stay. Scores by a scorer of the task's own count from
 * then on: of all trials at once. Gives what changed.
 */
async function scoreStudy(
  study: StudyToScore,
  asked: AnswersToScore,
): Promise<TrialScored[]> {
  const { store, study_id, registry, timestamp } = study;
  const records = await store.journalOf(study_id);
  const { request, spec } = openedRecord(records, study_id);
  const plan = spec.tasks.find(({ task }) => task === asked.task);
  if (plan === undefined) {
    throw new UsageError(unknownName("task", asked.task, spec.tasks.map(({ task }) => task)));
  }
  // Rows that were made for the model are made again; the journal does not say where it lies.
  const folder_of_model = existsSync(request.model_name) ? resolve(request.model_name) : null;
  const wire = wireTasks({ tasks: [plan] }, registry, request, folder_of_model)[0]!;
  const scorers = scorersOf(wire, asked, registry);
  const files = filesOf(records, spec, asked.task);
  if (files.length === 0) {
    throw new UsageError(`Cannot score ${asked.task} of ${study_id} as no trial has answered it`);
  }
  const at = timestamp();
  const stamp = at.replaceAll(/\D/g, "");
  const folder = join(store.paths.root, dirname(files[0]!.path));
  const verdicts = verdictsFile(folder, asked.task);
  const done = await run(study, {
    call: "score",
    task: wire,
    scorers,
    files: files.map(({ path, fidelity }) => ({
      samples_path: join(store.paths.root, path),
      fidelity,
      output_name: `${basename(path).replace(/\.[a-z]+$/, "")}.again-${stamp}`,
    })),
    answers_path: verdicts,
    allow_unsafe_code: request.allow_unsafe_code,
    ...(asked.judge === undefined ? {} : { judge: asked.judge, panel: [...asked.panel ?? []] }),
  }, folder);
  const found: Omit<TrialScored, "beside_because">[] = [];
  const byScorer: FileScored[][] = scorers.map(() => []);
  for (const [place, file] of files.entries()) {
    const samples = (await readSamples(join(store.paths.root, file.path), file.sha256))
      .filter(({ task }) => task === asked.task);
    for (const [number, { protocol_part, ...scored }] of done.files[place]!.entries()) {
      const { trial_id, fidelity, path, sha256, protocol = {} } = file;
      const answers = { study_id, trial_id, fidelity, path, sha256, protocol };
      const rows = await readKept(
        join(folder, scored.scores.name),
        scored.scores.sha256,
        ScoreRow,
        "score",
      );
      for (const metric of new Set(scored.measurements.map((one) => one.metric))) {
        const earlier = await earlierOf(study, records, file, scored, {
          ...{
            metric,
            reported: plan.metric ?? wire.reported_metric,
            own: wire.scorers[0]!.scorer,
            samples,
          },
        });
        found.push({
          ...{ trial_id, fidelity, task: scored.task, metric },
          ...{ scorer: scored.scorer, scorer_version: scored.scorer_version },
          earlier_by: earlier?.by ?? null,
          ...scoreDifference(metric, scoredRows(rows, metric, samples), earlier?.scores ?? null),
        });
      }
      const own = scorers[number]!.metrics[0]!.metric;
      const unscored = rows.filter(({ metric, score }) => metric === own && score === null).length;
      byScorer[number]!.push({ file, scored: { ...scored, protocol_part }, unscored });
      await store.record(scoredRecord(answers, scored, at));
    }
  }
  const beside = await recordAgain(study, wire, byScorer, records, at);
  await rm(verdicts, { force: true });
  return found.map((one) => ({ ...one, beside_because: beside.get(one.scorer) ?? null }));
}

/** Which answers of a study of a lab are scored again. */
export interface StudyAnswersToScore extends Partial<AnswersToScore> {
  /** Read beside those that the study began with. */
  readonly plugins?: readonly string[];
  /** By the judge: of the task, or of every task whose answers are written. */
  readonly rescore?: boolean;
}

/** The tasks that are meant, with the scorer. */
function tasksOf(
  { task, rescore = false, ...answers }: StudyAnswersToScore,
  { spec, request }: ReturnType<typeof openedRecord>,
  registry: Registry,
): AnswersToScore[] {
  if (!rescore) {
    if (task === undefined) throw new UsageError("Cannot score answers again without a task");
    return [{ ...answers, task }];
  }
  const scorer = rubricScorer(registry).name;
  if (task !== undefined) return [{ ...answers, task, scorer }];
  const written = wireTasks(spec, registry, request, null).filter(isWritten);
  if (written.length > 0) return written.map((one) => ({ ...answers, task: one.task, scorer }));
  throw new UsageError("Cannot judge answers of this study as none of its tasks is written");
}

/** `scoreStudy` for a study of a lab, the latest where none is named. */
export async function scoreInLab(
  opened: Opened,
  study: string | undefined,
  { plugins = [], ...answers }: StudyAnswersToScore,
): Promise<TrialScored[]> {
  const { store: there, id } = await findStudy(await opened.store.current(), study);
  const record = openedRecord(await there.journalOf(id), id);
  const { request } = record;
  const more = { ...request, plugins: [...new Set([...request.plugins, ...plugins])] };
  const asked = await readRequest(opened.registry, more);
  const { tools, runner } = await checkedTools(opened, opened.stop.signal, id, asked);
  const { registry, timestamp } = tools;
  await using inUse = await opened.store.use();
  const found: TrialScored[] = [];
  for (const one of tasksOf(answers, record, registry)) {
    const own = { study_id: id, store: inUse.store, registry, runner, timestamp };
    found.push(...await scoreStudy(own, one));
  }
  return found;
}
