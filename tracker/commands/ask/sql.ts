import { writeFile } from "node:fs/promises";
import { UsageError } from "../../../core/mod.ts";
import { findHome } from "../../ground/home.ts";
import { type Format, formatResult } from "../../store/query/query.ts";
import type { QueryLimits, QueryResult } from "../../store/query/result.ts";
import { outsideStores } from "../../ground/storage/outside_stores.ts";
import { openStore, type Store } from "../../store/store.ts";
import { outputWidth } from "../../ground/terminal/fit_columns.ts";
import { standardOutput, watch } from "../../show/terminal/watch.ts";
import { parseDuration, parsePositive, parseWhole } from "../../ground/terminal/parse_values.ts";
import { parseParams, readStatement } from "../input/sql_input.ts";

export interface SqlOptions {
  store?: string;
  format: Format;
  output?: string;
  maxRows?: string;
  timeout?: string;
  param?: string[];
  /** True where no seconds are named. */
  watch?: string | true;
}

const MAX_ROWS = 10_000;
const WATCH_SECONDS = 2;

function limitsOf(options: SqlOptions): QueryLimits {
  const { maxRows, timeout, param } = options;
  return {
    form: options.format === "json" ? "json" : "text",
    ...(maxRows === undefined ? {} : { maxRows: parseWhole(maxRows, "--max-rows", 1) }),
    ...(timeout === undefined ? {} : { timeoutMs: parseDuration(timeout, "--timeout") * 1000 }),
    ...(param === undefined ? {} : { params: parseParams(param) }),
  };
}

/** What the rows themselves cannot say, on standard error: that there are more, or newer ones. */
function remark(result: QueryResult): void {
  if (result.capped) {
    console.error(`cut at ${result.rows.length} rows: there are more; raise --max-rows`);
  }
  for (const note of [result.stale, result.torn ?? null]) {
    if (note !== null) console.error(`note: ${note}`);
  }
}

async function writeParquet(store: Store, sql: string, options: SqlOptions): Promise<void> {
  const { output, maxRows } = options;
  if (output === undefined) {
    throw new UsageError("Cannot print Parquet: give a file with --output rows.parquet");
  }
  if (maxRows !== undefined) {
    throw new UsageError("Cannot cap Parquet with --max-rows: write LIMIT into the query");
  }
  const rows = await store.exportParquet(sql, output, limitsOf(options));
  console.error(`${rows} rows in ${output}`);
}

async function watchQuery(store: Store, sql: string, options: SqlOptions): Promise<void> {
  const { format } = options;
  if (format === "parquet" || options.output !== undefined) {
    throw new UsageError("Cannot watch what is written to a file: leave --watch or --output out");
  }
  const seconds = options.watch === true
    ? WATCH_SECONDS
    : parsePositive(String(options.watch), "--watch");
  const limits = limitsOf(options);
  const stop = new AbortController();
  const end = () => stop.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, end);
  try {
    await watch(async () => {
      const result = await store.query(sql, limits);
      const text = formatResult(result, format, outputWidth());
      return result.stale === null ? text : `${text}note: ${result.stale}\n`;
    }, { seconds, screen: standardOutput(), signal: stop.signal });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, end);
  }
}

async function answer(store: Store, sql: string, options: SqlOptions): Promise<void> {
  if (options.output !== undefined) outsideStores(options.output, "write");
  const result = await store.wholeQuery(sql, { maxRows: MAX_ROWS, ...limitsOf(options) });
  const width = options.output === undefined ? outputWidth() : Infinity;
  const format = options.format as Exclude<Format, "parquet">; // see sqlCommand
  const text = formatResult(result, format, width);
  if (options.output === undefined) standardOutput().write(text);
  else await writeFile(options.output, text);
  remark(result);
}

/** `pare sql`: one reading statement, printed, written to a file, or asked again and again. */
export async function sqlCommand(query: string, options: SqlOptions): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  const sql = await readStatement(query);
  await using store = await openStore(home.store, { write: false });
  try {
    if (options.watch !== undefined) await watchQuery(store, sql, options);
    else if (options.format === "parquet") await writeParquet(store, sql, options);
    else await answer(store, sql, options);
  } catch (error) {
    // Whoever reads the output, such as head, has seen enough.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw saidByOption(error);
  }
}

/** On a command line the values of a query's parameters are given by an option. */
function saidByOption(error: unknown): unknown {
  if (!(error instanceof UsageError)) return error;
  const found = / as its parameters are (?:none|\$(\w+))/.exec(error.message);
  if (found === null) return error;
  const how = found[1] === undefined
    ? "leave --param out"
    : `give each by --param, such as --param ${found[1]}=3`;
  return new UsageError(`${error.message}; ${how}`);
}
