import type { DuckDBConnection } from "@duckdb/node-api";
import { unknownOfMany, UsageError } from "../../../core/errors.ts";
import { DUCKDB_MEMORY } from "./bounds.ts";

async function namesOf(connection: DuckDBConnection, sql: string): Promise<string[]> {
  const found = await connection.runAndReadAll(sql);
  return found.getRows().map(([name]) => String(name));
}

function knownTables(connection: DuckDBConnection): Promise<string[]> {
  return namesOf(
    connection,
    `SELECT view_name FROM duckdb_views() WHERE NOT internal
     UNION SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1`,
  );
}

/** Columns of every table and view whose name is a word of the query, and those names. */
async function knownColumns(
  connection: DuckDBConnection,
  sql: string,
): Promise<{ names: string[]; tables: string[] }> {
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  const columns = await connection.runAndReadAll(
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal",
  );
  const asked = columns.getRows().filter(([table]) => words.has(String(table)));
  const all = (part: 0 | 1) => [...new Set(asked.map((row) => String(row[part])))];
  return { names: all(1), tables: all(0) };
}

const COLUMN = /Referenced column "([^"]+)" not found|does not have a column named "([^"]+)"/;
const TABLE = /Table with name "?([^\s"]+)"? does not exist/;

/** A message of DuckDB's in parts: what is wrong, and the line with the caret under the place. */
function parted(message: string): { said: string; place: string; shown: string } {
  const [, line, text, caret] = /\n\nLINE (\d+): (.*)\n( *\^)\s*$/.exec(message) ?? [];
  if (line === undefined || text === undefined || caret === undefined) {
    return { said: message, place: "", shown: "" };
  }
  const said = message.slice(0, message.lastIndexOf("\n\nLINE "));
  const before = `LINE ${line}: `.length;
  // DuckDB shows a part of a long line: what stands before it is not counted then.
  const column = text.startsWith("...") ? "" : `, column ${caret.length - before}`;
  const shown = `\n\n  ${text}\n  ${caret.slice(before)}`;
  return { said, place: ` at line ${line}${column}`, shown };
}

/** Whether a query ended as what DuckDB may hold in memory was full, which a folder on disk mends. */
export function needsDisk(error: unknown): boolean {
  const cause = error instanceof UsageError ? error.cause : error;
  return cause instanceof Error && /^Out of Memory Error: .* used\)/.test(cause.message);
}

/** DuckDB's message as a user reads it: the place, the nearest known name, and what there is. */
export async function queryError(
  connection: DuckDBConnection,
  sql: string,
  error: unknown,
): Promise<UsageError> {
  const raw = error instanceof Error ? error.message : String(error);
  const message = raw.replace(/^Failed to extract statements: /, "").trim();
  if (/^Out of Memory Error/.test(message)) {
    const why = message.split("\n")[0]!.replace(/^Out of Memory Error: /, "");
    return new UsageError(
      `Cannot finish the query in the memory that a query may take (${DUCKDB_MEMORY}): ${why}; narrow it`,
      { cause: error },
    );
  }
  const { said, place, shown } = parted(message);
  const column = COLUMN.exec(said);
  const table = TABLE.exec(said);
  let what = said;
  let tables = "";
  const columns = column === null ? null : await knownColumns(connection, sql);
  if (column !== null && columns !== null && columns.names.length > 0) {
    const lists = columns.tables.map((name) => `DESCRIBE ${name}`).join(" or ");
    what = unknownOfMany("column", column[1] ?? column[2] ?? "", columns.names, lists);
  } else if (table !== null) {
    const known = await knownTables(connection);
    what = unknownOfMany("table or view", table[1] ?? "", known, "SHOW TABLES");
  } else if (/^(Parser|Catalog|Binder) Error/.test(said)) {
    tables = "\n\nSHOW TABLES lists tables and views, DESCRIBE leaderboard the columns of one.";
  }
  return new UsageError(`Cannot run the query${place}: ${what}${shown}${tables}`);
}
