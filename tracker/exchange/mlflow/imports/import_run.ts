import type { ImportedStep } from "../../../../core/mod.ts";
import { byStep, reasonOf } from "../../imports/foreign_values.ts";
import { type Foreign, type ForeignRun, type LeftOut, UNSAID } from "../../imports/import_runs.ts";
import { studyId } from "../../imports/study_id.ts";
import { RunStatus } from "../client/answers.ts";

/** An experiment with what tells it from one of the same name elsewhere. */
export interface ForeignExperiment {
  readonly experiment_id: string;
  readonly name: string;
  readonly artifact_location: string;
  /** Milliseconds since 1970; null in old stores. */
  readonly creation_time: number | null;
}

/** A metric's history, in any order. */
export interface History {
  readonly metric: string;
  readonly points: readonly { value: number; timestamp: number; step: ImportedStep }[];
}

/** A run as each of MLflow's stores tells it. Times are milliseconds since 1970. */
export interface MlflowRun {
  readonly run_id: string;
  readonly name: string;
  readonly status: string;
  readonly start_time: number | null;
  readonly end_time: number | null;
  readonly params: readonly { key: string; value: string }[];
  readonly tags: readonly { key: string; value: string }[];
  readonly histories: readonly History[];
}

const STATES = {
  FINISHED: "completed",
  FAILED: "failed",
  KILLED: "cancelled",
  RUNNING: "running",
  SCHEDULED: "running",
} as const;

function moment(ms: number | null): string | null {
  return ms === null || ms <= 0 || Math.abs(ms) > 8.64e15 ? null : new Date(ms).toISOString();
}

/** Points as MLflow orders them: by step, time and value; NaN last. */
function inOrder({ points }: History): History["points"] {
  const rank = (value: number) => Number.isNaN(value) ? Infinity : value;
  return [...points].sort((a, b) =>
    byStep(a.step, b.step) || a.timestamp - b.timestamp || (rank(a.value) < rank(b.value) ? -1 : 1)
  );
}

function measurementOf(metric: string, value: number): ForeignRun["measurements"][number] {
  return { ...UNSAID, metric, value };
}

/** The latest moment that the store holds, in milliseconds since 1970. */
const MOST_MS = 8.64e15;

const hasMoments = (points: History["points"]) =>
  points.every(({ timestamp }) => Math.abs(timestamp) <= MOST_MS);

function seriesOf(metric: string, points: History["points"]): ForeignRun["series"] {
  if (points.length < 2 && points[0]?.step === 0) return []; // the measurement says it all
  return [{
    metric,
    steps: points.map(({ step }) => step),
    values: points.map(({ value }) => value),
    times: hasMoments(points) ? points.map(({ timestamp }) => timestamp) : null,
  }];
}

/** Metrics whose times are no moments, such as nanoseconds: their points come without them. */
function withoutTimes(name: string, histories: readonly History[]): LeftOut[] {
  return histories.filter(({ points }) => !hasMoments(points)).map(({ metric, points }) => ({
    what: `times of ${metric} in the run ${name}`,
    why: `${points.find(({ timestamp }) => Math.abs(timestamp) > MOST_MS)?.timestamp} is no ` +
      "moment in milliseconds since 1970",
  }));
}

/** A run for the store. Params stay the texts that MLflow keeps; what it does not say is null. */
export function foreignRun(experiment: ForeignExperiment, run: MlflowRun): ForeignRun {
  const { experiment_id, name, artifact_location, creation_time } = experiment;
  const identity = [experiment_id, name, creation_time ?? artifact_location].join("\n");
  const status = RunStatus.safeParse(run.status);
  const tags = Object.fromEntries(run.tags.map(({ key, value }) => [key, value]));
  const histories = run.histories.map((history) => ({ ...history, points: inOrder(history) }))
    .filter(({ points }) => points.length > 0);
  return {
    source_id: run.run_id,
    study_id: studyId("mlflow", name, identity),
    study_name: name,
    number: null,
    name: run.name || (tags["mlflow.runName"] ?? ""),
    parent_id: tags["mlflow.parentRunId"] ?? null,
    state: status.success ? STATES[status.data] : "running",
    failure_message: null,
    started_at: moment(run.start_time),
    finished_at: moment(run.end_time),
    params: run.params.map(({ key, value }) => ({ param: key, value, distribution: null })),
    measurements: histories.map(({ metric, points }) =>
      measurementOf(metric, points.at(-1)!.value)
    ),
    series: histories.flatMap(({ metric, points }) => seriesOf(metric, points)),
    tags,
    left_out: withoutTimes(run.name || run.run_id, histories),
  };
}

/** A run, or why it cannot be taken over: the others come all the same. */
export function orLeftOut<Run extends ForeignRun | null>(
  name: string,
  read: () => Run,
): Run | Exclude<Foreign, ForeignRun> {
  try {
    return read();
  } catch (error) {
    return { left_out: { what: `the run ${name}`, why: reasonOf(error) } };
  }
}
