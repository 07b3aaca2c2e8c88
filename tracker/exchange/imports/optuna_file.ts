import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { UsageError } from "../../../core/mod.ts";
import { wholeNumber } from "./foreign_values.ts";
import { attributeText } from "./optuna_values.ts";
import { openSqlite, requireTables, sqliteReason } from "./sqlite_file.ts";

/** Version of Optuna's tables that is read: that of Optuna 3.0 to 5. */
const SCHEMA = 12;

/** A number of SQLite's that a double holds, also where it is none or has no end. */
const Double = z.custom<number | bigint>((value) => /^(number|bigint)$/.test(typeof value))
  .transform(Number);
const Whole = Double;
/** One whose every digit counts. */
const Exact = z.union([z.int(), z.bigint()]).transform(wholeNumber);

const Trial = z.object({
  trial_id: Whole,
  number: Whole,
  state: z.string(),
  datetime_start: z.string().nullable(),
  datetime_complete: z.string().nullable(),
});
const Param = z.object({
  trial_id: Whole,
  param_name: z.string(),
  param_value: Whole,
  distribution_json: z.string(),
});
const Value = z.object({
  trial_id: Whole,
  place: Exact,
  value: Double.nullable(),
  kind: z.string(),
});
const Attribute = z.object({ trial_id: Whole, key: z.string(), value_json: z.string() });
const Study = z.object({ study_id: Whole, study_name: z.string() });
const Objective = z.object({ direction: z.enum(["MAXIMIZE", "MINIMIZE"]), objective: Whole });

function rowsOf<Row>(
  database: DatabaseSync,
  row: z.ZodType<Row>,
  sql: string,
  ...values: (string | number)[]
): Row[] {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  return z.array(row).parse(statement.all(...values));
}

function byTrial<Row extends { trial_id: number }>(rows: readonly Row[]): Map<number, Row[]> {
  return Map.groupBy(rows, ({ trial_id }) => trial_id);
}

/** What is read of Optuna's tables. */
const TABLES = [
  ...["study_directions", "study_user_attributes", "study_system_attributes"],
  ...["trials", "trial_params", "trial_values", "trial_intermediate_values"],
  ...["trial_user_attributes", "trial_system_attributes"],
];

/** What SQLite refuses of a damaged file, as a sentence: `what` it cannot. */
function orRefused<T>(path: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`Cannot import ${path} as it cannot be ${what}: ${sqliteReason(error)}`);
  }
}

/** Optuna's version; refuses a file that is none of its, or of tables that are not known. */
function checkSchema(database: DatabaseSync, path: string): string {
  const Version = z.object({ schema_version: Whole, library_version: z.string() });
  let version: z.infer<typeof Version> | undefined;
  try {
    requireTables(database, ["version_info"]);
    [version] = rowsOf(
      database,
      Version,
      "SELECT schema_version, library_version FROM version_info",
    );
  } catch {
    version = undefined;
  }
  if (version === undefined) {
    throw new UsageError(`Cannot import ${path} as it holds no study of Optuna's`);
  }
  if (version.schema_version !== SCHEMA) {
    throw new UsageError(
      `Cannot import ${path} as its tables have version ${version.schema_version}, not ${SCHEMA}: run "optuna storage upgrade --storage sqlite:///${path}" on a copy first`,
    );
  }
  return version.library_version;
}

function values(database: DatabaseSync, study_id: number) {
  const of = (table: string, place: string, value: string) =>
    byTrial(rowsOf(
      database,
      Value,
      `SELECT trial_id, ${place} AS place, ${value} AS value, ${value}_type AS kind
       FROM ${table} JOIN trials USING (trial_id) WHERE study_id = ? ORDER BY trial_id, ${place}`,
      study_id,
    ));
  return {
    measured: of("trial_values", "objective", "value"),
    intermediate: of("trial_intermediate_values", "step", "intermediate_value"),
  };
}

/** What the objectives are called and which way is better, in order. */
function objectivesOf(database: DatabaseSync, study_id: number) {
  const rows = rowsOf(
    database,
    Objective,
    "SELECT direction, objective FROM study_directions WHERE study_id = ? ORDER BY objective",
    study_id,
  );
  const [named] = database.prepare(
    "SELECT value_json FROM study_system_attributes WHERE study_id = ? AND key = 'study:metric_names'",
  ).all(study_id);
  const names = named === undefined
    ? null
    : z.array(z.string()).parse(JSON.parse(String(named["value_json"])));
  return rows.map(({ direction, objective }) => ({
    metric: names?.[objective] ?? (rows.length === 1 ? "value" : `values_${objective}`),
    direction: direction === "MAXIMIZE" ? "maximize" as const : "minimize" as const,
  }));
}

function attributesOf(database: DatabaseSync, study_id: number) {
  const of = (table: string) =>
    byTrial(rowsOf(
      database,
      Attribute,
      `SELECT trial_id, key, value_json FROM ${table} JOIN trials USING (trial_id)
       WHERE study_id = ? ORDER BY trial_id, key`,
      study_id,
    ));
  const study = database.prepare(
    "SELECT key, value_json FROM study_user_attributes WHERE study_id = ? ORDER BY key",
  ).all(study_id).map((row): [string, string] => [
    `study.${row["key"]}`,
    attributeText(String(row["value_json"])),
  ]);
  return { user: of("trial_user_attributes"), system: of("trial_system_attributes"), study };
}

/** Everything that a file says of a study. */
export function readStudy(database: DatabaseSync, study_id: number) {
  requireTables(database, TABLES);
  const trials = rowsOf(
    database,
    Trial,
    `SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials
     WHERE study_id = ? AND state <> 'WAITING' ORDER BY number`,
    study_id,
  );
  const params = rowsOf(
    database,
    Param,
    `SELECT trial_id, param_name, param_value, distribution_json
     FROM trial_params JOIN trials USING (trial_id) WHERE study_id = ? ORDER BY param_id`,
    study_id,
  );
  return {
    trials,
    params: byTrial(params),
    objectives: objectivesOf(database, study_id),
    ...values(database, study_id),
    attributes: attributesOf(database, study_id),
  };
}

/** Every study of the file. */
export function listStudies(database: DatabaseSync): z.infer<typeof Study>[] {
  return rowsOf(database, Study, "SELECT study_id, study_name FROM studies ORDER BY study_id");
}

/** Opens a file of Optuna's for reading, at one moment of what a study may be writing. */
export function openOptuna(path: string): { database: DatabaseSync; library_version: string } {
  const database = orRefused(path, "opened as an SQLite file", () => openSqlite(path));
  try {
    const library_version = checkSchema(database, path);
    orRefused(path, "read", () => requireTables(database, ["studies"]));
    database.exec("BEGIN");
    return { database, library_version };
  } catch (error) {
    database.close();
    throw error;
  }
}
