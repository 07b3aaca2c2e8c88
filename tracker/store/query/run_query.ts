import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue } from "@duckdb/node-api";
import { UsageError } from "../../../core/errors.ts"; // a query's process starts without the rest
import { queryError } from "./query_error.ts";
import { valueOf } from "./duckdb_values.ts";
import type { QueryLimits, QueryParams, QueryResult } from "./result.ts";

/** DuckDB's numbers of the statement types that only read: SELECT (also SHOW, DESCRIBE), EXPLAIN. */
const READS = new Set([1, 4]);

function inWords(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.map((name) => `$${name}`).join(", ");
}

function bind(statement: DuckDBPreparedStatement, params: QueryParams | undefined): void {
  const wanted = Array.from(
    { length: statement.parameterCount },
    (_, index) => statement.parameterName(index + 1),
  ).sort();
  const given =
    (Array.isArray(params)
      ? params.map((_, index) => String(index + 1))
      : Object.keys(params ?? {})).sort();
  if (wanted.join() !== given.join()) {
    throw new UsageError(
      `Cannot run the query as its parameters are ${inWords(wanted)}: values were given for ${
        inWords(given)
      }`,
    );
  }
  if (given.length > 0) statement.bind(params as DuckDBValue[] | Record<string, DuckDBValue>); // both forms
}

/** The one statement of a text, checked that it only reads. */
async function readStatement(
  connection: DuckDBConnection,
  sql: string,
): Promise<DuckDBPreparedStatement> {
  // DuckDB's C interface ends a text there: the rest would be left unread without a word.
  if (sql.includes("\0")) {
    throw new UsageError(
      `Cannot run the query as it holds a null byte at character ${sql.indexOf("\0") + 1}: ` +
        "leave it out, or write chr(0)",
    );
  }
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) {
    throw new UsageError(
      `Cannot run the query as it must be one statement: found ${statements.count}`,
    );
  }
  const statement = await statements.prepare(0);
  if (!READS.has(statement.statementType)) {
    statement.destroySync();
    throw new UsageError(
      "Cannot run the query as it must only read: use SELECT, SHOW, DESCRIBE or EXPLAIN",
    );
  }
  return statement;
}

export function timeLimitSentence(timeoutMs: number): string {
  const limit = `${timeoutMs / 1000} s`;
  return `Cannot finish the query in ${limit}: it was stopped; narrow it or give it more time`;
}

/** Runs `work`, stopping the connection's statement after `timeoutMs`. */
async function withTimeout<T>(
  connection: DuckDBConnection,
  sql: string,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    connection.interrupt();
  }, timeoutMs);
  try {
    return await work();
  } catch (error) {
    if (timedOut) {
      throw new UsageError(timeLimitSentence(timeoutMs));
    }
    throw error instanceof UsageError ? error : await queryError(connection, sql, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs one reading statement on a locked, read-only connection. */
export function runQuery(
  connection: DuckDBConnection,
  sql: string,
  { params, maxRows = 10_000, timeoutMs = 30_000, form = "program" }: QueryLimits,
): Promise<Omit<QueryResult, "stale" | "torn">> {
  return withTimeout(connection, sql, timeoutMs, async () => {
    const statement = await readStatement(connection, sql);
    bind(statement, params);
    const reader = await statement.streamAndReadUntil(maxRows + 1);
    const names = reader.deduplicatedColumnNames();
    const types = reader.columnTypes();
    const rows = reader.getRows().slice(0, maxRows).map((row) =>
      Object.fromEntries(names.map((name, i) => [name, valueOf(row[i] ?? null, types[i]!, form)]))
    );
    return {
      columns: names.map((name, i) => ({ name, type: String(types[i]) })),
      rows,
      capped: reader.currentRowCount > maxRows,
    };
  });
}

/** Refuses a text that is not one reading statement, or that names what is not there. */
export function checkQuery(
  connection: DuckDBConnection,
  sql: string,
  { timeoutMs = 30_000 }: QueryLimits,
): Promise<void> {
  return withTimeout(connection, sql, timeoutMs, async () => {
    (await readStatement(connection, sql)).destroySync();
  });
}

/** Writes a query's answer as Parquet to `path`, the one file that the connection may write. `checkQuery` goes before. */
export function runExport(
  connection: DuckDBConnection,
  sql: string,
  path: string,
  { params, timeoutMs = 600_000 }: QueryLimits,
): Promise<number> {
  return withTimeout(connection, sql, timeoutMs, async () => {
    const inner = sql.trim().replace(/;\s*$/, "");
    const copy = await connection.prepare(
      `COPY (${inner}\n) TO '${path.replaceAll("'", "''")}' (FORMAT parquet, USE_TMP_FILE false)`,
    );
    bind(copy, params);
    const result = await copy.runAndReadAll();
    return Number(result.getRows()[0]?.[0] ?? 0);
  });
}
