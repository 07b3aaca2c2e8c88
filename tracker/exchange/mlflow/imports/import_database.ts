import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { unknownName, UsageError } from "../../../../core/mod.ts";
import { wholeNumber } from "../../imports/foreign_values.ts";
import type { Foreign } from "../../imports/import_runs.ts";
import {
  openSqlite,
  requireTables,
  runsOrRefused,
  sqliteReason,
} from "../../imports/sqlite_file.ts";
import { type ForeignExperiment, foreignRun, type History, orLeftOut } from "./import_run.ts";

const Experiment = z.object({
  experiment_id: z.int().transform(String),
  name: z.string(),
  artifact_location: z.string().nullable().transform((text) => text ?? ""),
  creation_time: z.int().nullable(),
});
const RunRow = z.object({
  run_id: z.string(),
  name: z.string().nullable(),
  status: z.string().nullable(),
  start_time: z.int().nullable(),
  end_time: z.int().nullable(),
});
const PairRow = z.object({
  key: z.string(),
  value: z.string().nullable().transform((text) => text ?? ""),
});
/** Whole numbers are read without a digit lost. */
const Exact = z.union([z.int(), z.bigint()]).transform(wholeNumber);
const MetricRow = z.object({
  key: z.string(),
  value: z.custom<number | bigint>((value) => /^(number|bigint)$/.test(typeof value))
    .transform(Number),
  timestamp: Exact.transform(Number),
  step: Exact,
  is_nan: Exact.pipe(z.literal([0, 1])),
});

function refused(path: string, why: string): UsageError {
  return new UsageError(`Cannot read ${path} as an MLflow database: ${why}`);
}

function open(path: string): DatabaseSync {
  let database: DatabaseSync;
  try {
    database = openSqlite(path);
  } catch (error) {
    throw error instanceof UsageError ? error : refused(path, sqliteReason(error));
  }
  try {
    requireTables(database, ["experiments", "runs", "metrics", "params", "tags"]);
  } catch (error) {
    database.close();
    throw refused(path, `its tables are others (${sqliteReason(error)})`);
  }
  return database;
}

function hasColumn(database: DatabaseSync, table: string, column: string): boolean {
  return database.prepare("SELECT name FROM pragma_table_info(?)").all(table)
    .some(({ name }) => name === column);
}

/** Points by metric. The largest double stands for infinity: the store has no other way. */
function historiesOf(rows: readonly z.infer<typeof MetricRow>[]): History[] {
  const histories = new Map<string, History["points"][number][]>();
  for (const { key, value, timestamp, step, is_nan } of rows) {
    const points = histories.get(key) ?? [];
    histories.set(key, points);
    const largest = Math.abs(value) === Number.MAX_VALUE;
    points.push({
      value: is_nan === 1 ? NaN : largest ? Math.sign(value) * Infinity : value,
      timestamp,
      step,
    });
  }
  return [...histories].map(([metric, points]) => ({ metric, points }));
}

/** Runs of MLflow's SQLite file that are not deleted, read without writing to it. */
export function databaseRuns(
  path: string,
  experiment_name: string | undefined,
): Generator<Foreign> {
  return runsOrRefused(path, runsOf(path, experiment_name));
}

function* runsOf(path: string, experiment_name: string | undefined): Generator<Foreign> {
  using database = open(path);
  const created = hasColumn(database, "experiments", "creation_time") ? "creation_time" : "NULL";
  const experiments = database.prepare(
    `SELECT experiment_id, name, artifact_location, ${created} AS creation_time FROM experiments
     WHERE lifecycle_stage = 'active' ORDER BY experiment_id`,
  ).all().map((row) => Experiment.parse(row));
  const chosen = experiments.filter(({ name }) =>
    experiment_name === undefined || name === experiment_name
  );
  if (experiment_name !== undefined && chosen.length === 0) {
    const names = experiments.map(({ name }) => name);
    throw new UsageError(unknownName("experiment", experiment_name, names));
  }
  const runs = database.prepare(
    `SELECT run_uuid AS run_id, name, status, start_time, end_time FROM runs
     WHERE experiment_id = ? AND lifecycle_stage = 'active' ORDER BY start_time, run_uuid`,
  );
  const of = (table: "params" | "tags", run_id: string) =>
    database.prepare(`SELECT key, value FROM ${table} WHERE run_uuid = ? ORDER BY key`)
      .all(run_id).map((row) => PairRow.parse(row));
  const metrics = database.prepare(
    "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY key",
  );
  metrics.setReadBigInts(true);
  const read = (experiment: ForeignExperiment, row: unknown) => {
    const run = RunRow.parse(row);
    return foreignRun(experiment, {
      ...run,
      name: run.name ?? "",
      status: run.status ?? "RUNNING",
      params: of("params", run.run_id),
      tags: of("tags", run.run_id),
      histories: historiesOf(metrics.all(run.run_id).map((one) => MetricRow.parse(one))),
    });
  };
  for (const experiment of chosen) {
    for (const row of runs.all(Number(experiment.experiment_id))) {
      yield orLeftOut(String(row["run_id"]), () => read(experiment, row));
    }
  }
}
