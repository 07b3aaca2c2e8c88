import { DatabaseSync } from "node:sqlite";
import { UsageError, visibleText } from "../../../core/mod.ts";
import { requireFile } from "../../ground/storage/plain_file.ts";
import { reasonOf } from "./foreign_values.ts";
import type { Foreign } from "./import_runs.ts";

/**
 * Opens a stranger's SQLite file for reading.
 *
 * @throws Error why it is not read, one clause; UsageError it is no file
 */
export function openSqlite(path: string): DatabaseSync {
  requireFile(path);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    database.prepare("SELECT count(*) FROM sqlite_master").get(); // reads the file's header
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

class OtherTables extends Error {}

/**
 * Refuses what a file can make SQLite compute: a view in a table's place, or a column that is generated,
 * may be without end or without measure.
 *
 * @throws Error which table is none, one clause
 */
export function requireTables(database: DatabaseSync, tables: readonly string[]): void {
  const plain = database.prepare(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'",
  ).all().map(({ name }) => name);
  const missing = tables.find((table) => !plain.includes(table));
  if (missing !== undefined) throw new OtherTables(`it has no table ${missing}`);
  const generated = database.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 0");
  for (const table of tables) {
    const [column] = generated.all(table);
    if (column === undefined) continue;
    throw new OtherTables(`its column ${table}.${column["name"]} is computed, not kept`);
  }
}

/** What SQLite says of a damaged file, which quotes it, on one line. */
export function sqliteReason(error: unknown): string {
  return visibleText(reasonOf(error).replaceAll(/\s+/g, " "));
}

/** Whether a file, not this program, is to blame: what SQLite refuses, or a row that is none. */
function isFiles(error: unknown): boolean {
  const { code, issues } = error as { code?: unknown; issues?: unknown };
  return code === "ERR_SQLITE_ERROR" || Array.isArray(issues) || error instanceof SyntaxError ||
    error instanceof OtherTables;
}

/** The same runs, where what is damaged in the file beyond a single one ends them in a sentence. */
export function* runsOrRefused(
  path: string,
  runs: Iterable<Foreign>,
): Generator<Foreign> {
  try {
    yield* runs;
  } catch (error) {
    if (error instanceof UsageError || !isFiles(error)) throw error;
    throw new UsageError(`Cannot import ${path} as it cannot be read: ${sqliteReason(error)}`, {
      cause: error,
    });
  }
}
