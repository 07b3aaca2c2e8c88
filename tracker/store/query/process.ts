/**
 * The process that runs a user's statements: what they take of memory the kernel limits, and whoever
 * started it can end it. It reads requests from standard input and ends with it.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../../core/errors.ts";
import { frame, frames } from "./frames.ts";
import { limitMemory } from "../../ground/storage/memory_limit.ts";
import { openCurrent } from "../index/open_current.ts";
import { type OpenDatabase, openPatiently } from "../index/open_database.ts";
import type { QueryReply, QueryRequest } from "./messages.ts";
import { ANSWER_BYTES, QUERY_MEMORY_BYTES } from "./bounds.ts";
import { needsDisk } from "./query_error.ts";
import type { QueryLimits } from "./result.ts";
import { checkQuery, runExport, runQuery } from "./run_query.ts";
import { removeSpill, spillFolder } from "./spill.ts";
import type { StorePaths } from "../store_paths.ts";

/** How long a query that goes on to disk waits for whoever has the database meanwhile. */
const REOPEN_MS = 2_000;

let opened: OpenDatabase | null = null;
let paths: StorePaths | null = null;

function close(): void {
  opened?.close();
  opened = null;
}

async function open(request: Extract<QueryRequest, { kind: "open" }>): Promise<unknown> {
  close();
  paths = request.paths;
  const { patience_ms, current, options } = request;
  const spill = options.write_to === undefined ? {} : { spill_into: spillFolder(paths.root) };
  const found = await openCurrent(paths, {
    readOnly: true,
    patience_ms,
    current,
    ...options,
    ...spill,
  });
  if (found === "behind" || "obstacle" in found) return found;
  opened = found;
  return "open";
}

/** The connection, opened again where a query that went on to disk had to close it. */
async function connection(): Promise<DuckDBConnection> {
  if (opened === null && paths !== null) {
    const found = await openPatiently(paths.database, { readOnly: true, patience_ms: REOPEN_MS });
    if (!("obstacle" in found)) opened = found;
  }
  if (opened !== null) return opened.connection;
  throw new UsageError("Cannot run the query as another process has the database; ask again");
}

/**
 * Runs a query; one that needs more memory than DuckDB may take runs again with a folder on disk.
 * It has been bound then where no file could be read, so that it names none.
 */
async function query(sql: string, limits: QueryLimits): Promise<unknown> {
  const started = performance.now();
  try {
    return await runQuery(await connection(), sql, limits);
  } catch (error) {
    if (!needsDisk(error) || paths === null) throw error;
    close();
    const options = { readOnly: true, spill_into: spillFolder(paths.root) };
    const found = await openPatiently(paths.database, { ...options, patience_ms: REOPEN_MS });
    if ("obstacle" in found) throw error;
    try {
      const left = (limits.timeoutMs ?? 30_000) - (performance.now() - started);
      return await runQuery(found.connection, sql, { ...limits, timeoutMs: Math.max(1, left) });
    } finally {
      found.close();
      removeSpill(paths.root, Deno.pid);
    }
  }
}

async function answer(request: QueryRequest): Promise<unknown> {
  switch (request.kind) {
    case "open":
      return await open(request);
    case "query":
      return await query(request.sql, request.limits);
    case "check":
      return await checkQuery(await connection(), request.sql, request.limits) ?? null;
    case "export":
      return await runExport(await connection(), request.sql, request.path, request.limits);
    case "close":
      close();
      return null;
  }
}

async function reply(request: QueryRequest): Promise<Uint8Array> {
  let message: QueryReply;
  try {
    message = { ok: true, value: await answer(request) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    message = { ok: false, usage: error instanceof UsageError, message: text };
  }
  const whole = frame(message);
  if (whole.length <= ANSWER_BYTES) return whole;
  const size = `${Math.round(whole.length / 1e6)} MB`;
  const sentence =
    `Cannot hand over an answer of ${size}: ask for fewer rows or columns, or write it to a file of Parquet`;
  return frame({ ok: false, usage: true, message: sentence });
}

if (import.meta.main) {
  limitMemory(QUERY_MEMORY_BYTES);
  Deno.addSignalListener("SIGINT", () => {}); // Ctrl-C is for the command, which ends this one
  const out = Deno.stdout.writable.getWriter();
  let last: Promise<void> = Promise.resolve();
  for await (const request of frames(Deno.stdin.readable, ANSWER_BYTES)) {
    last = last.then(async () => out.write(await reply(request as QueryRequest))); // our own half's
  }
  // Whoever asked has gone, it may be in the middle of a query.
  if (paths !== null) removeSpill((paths as StorePaths).root, Deno.pid);
  Deno.exit(0);
}
