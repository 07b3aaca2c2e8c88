import { UsageError } from "../../../core/mod.ts";
import type { Database } from "../index/database.ts";
import { formatCsv, formatJson, formatTable } from "./printed_answer.ts";
import type { QueryLimits, QueryResult } from "./result.ts";

/** Forms in which an answer can be printed or written. */
export const FORMATS = ["table", "csv", "json", "parquet"] as const;
export type Format = (typeof FORMATS)[number];

/** How long a reader waits for a process that writes the database: beside other work a turn takes seconds. */
export const READ_PATIENCE_MS = 15_000;

/** Answers one reading statement; the rows are plain objects. */
export function query(
  database: Database,
  sql: string,
  limits: QueryLimits = {},
): Promise<QueryResult> {
  const { maxRows = 10_000, timeoutMs = 30_000 } = limits;
  if (!Number.isSafeInteger(maxRows) || maxRows < 1) {
    throw new UsageError(
      `Cannot run the query as maxRows must be a whole number above 0: ${maxRows}`,
    );
  }
  if (!(timeoutMs > 0)) {
    throw new UsageError(`Cannot run the query as timeoutMs must be above 0: ${timeoutMs}`);
  }
  return database.query(sql, { ...limits, maxRows, timeoutMs }, READ_PATIENCE_MS);
}

/**
 * The answer as text, a table in so many characters; `parquet` is written to a file by `exportParquet`
 * instead.
 */
export function formatResult(
  result: QueryResult,
  format: Exclude<Format, "parquet">,
  width?: number,
): string {
  switch (format) {
    case "table":
      return formatTable(result, width);
    case "csv":
      return formatCsv(result);
    case "json":
      return formatJson(result);
  }
}
