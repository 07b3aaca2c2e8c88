import { resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import type { FlushOptions, FlushReport, Peek, Rebuilt } from "./database_tasks.ts";
import type { ExportedSelect, ExportedTables } from "../export_tables.ts";
import type { Series, SeriesKey } from "../points/series.ts";
import type { QueryLimits, QueryResult } from "../query/result.ts";
import { type StorePaths, storePaths } from "../store_paths.ts";

/** What the worker is asked; it does one thing at a time. */
export type DatabaseTask =
  | { kind: "flush" } & FlushOptions
  | { kind: "query"; sql: string; limits: QueryLimits; patience_ms: number }
  | { kind: "series"; key: SeriesKey; points: number; patience_ms: number }
  | { kind: "export"; sql: string; out: string; limits: QueryLimits; patience_ms: number }
  | { kind: "export_tables"; directory: string; patience_ms: number }
  | {
    kind: "export_selects";
    directory: string;
    selects: readonly ExportedSelect[];
    patience_ms: number;
  }
  | { kind: "warm" }
  | { kind: "peek" }
  | { kind: "rebuild" }
  | { kind: "close" };

export interface DatabaseRequest {
  id: number;
  paths: StorePaths;
  task: DatabaseTask;
}

export type DatabaseAnswer =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; usage: boolean; message: string };

/** The database of a store, as one process sees it: every access goes through one worker. */
export interface Database {
  /** `keep_log`: quicker; the last flush before closing leaves it out. */
  flush(options: FlushOptions): Promise<FlushReport>;
  /** Starts the worker, so that the first flush need not wait for it. */
  warm(): Promise<unknown>;
  peek(): Promise<Peek>;
  query(sql: string, limits: QueryLimits, patience_ms: number): Promise<QueryResult>;
  series(key: SeriesKey, points: number, patience_ms: number): Promise<Series>;
  exportParquet(
    sql: string,
    out: string,
    limits: QueryLimits,
    patience_ms: number,
  ): Promise<number>;
  exportTables(directory: string, patience_ms: number): Promise<ExportedTables>;
  exportSelects(
    directory: string,
    selects: readonly ExportedSelect[],
    patience_ms: number,
  ): Promise<void>;
  rebuild(): Promise<Rebuilt>;
  close(): Promise<void>;
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

type Ask = (task: DatabaseTask) => Promise<unknown>;

/**
 * Starts the worker at the first task, so that a store that is only appended to has none; not
 * before `ready`, when an earlier worker on the same file has gone.
 */
function startAsking(paths: StorePaths, ready: Promise<unknown>): Ask {
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let id = 0;

  const start = (): Worker => {
    const started = new Worker(new URL("./sink_worker.ts", import.meta.url), {
      type: "module",
      name: "pare-database",
    });
    started.onmessage = (event: MessageEvent<DatabaseAnswer>) => {
      const answer = event.data;
      const waiting = pending.get(answer.id);
      pending.delete(answer.id);
      if (answer.ok) waiting?.resolve(answer.value);
      else waiting?.reject(new (answer.usage ? UsageError : Error)(answer.message));
    };
    started.onerror = (event) => {
      event.preventDefault();
      for (const { reject } of pending.values()) {
        reject(new Error(`Cannot use the database as its worker failed: ${event.message}`));
      }
      pending.clear();
      worker = null;
    };
    return started;
  };

  return async (task) => {
    await ready;
    if (task.kind === "close" && worker === null) return null;
    worker ??= start();
    const request: DatabaseRequest = { id: id++, paths, task };
    return new Promise((resolve, reject) => {
      pending.set(request.id, { resolve, reject });
      worker?.postMessage(request);
      if (task.kind === "close") worker = null;
    });
  };
}

/** Users of each database in this process; opening it twice would lose the file's lock. */
const shared = new Map<string, { users: number; ask: Ask }>();
const closing = new Map<string, Promise<unknown>>();

function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Whether this process has the database of the store at `root` in use. */
export function isInUse(root: string): boolean {
  const path = realPath(root);
  return shared.has(path) || closing.has(path);
}

/** The database of the store at `root`; close it as often as it was opened. */
export function useDatabase(root: string): Database {
  const paths = storePaths(realPath(root));
  const ready = closing.get(paths.root) ?? Promise.resolve();
  const entry = shared.get(paths.root) ?? { users: 0, ask: startAsking(paths, ready) };
  entry.users++;
  shared.set(paths.root, entry);
  let open = true;
  const ask: Ask = (task) =>
    open ? entry.ask(task) : Promise.reject(new Error(`Cannot use ${paths.root} as it is closed`));
  // The worker's answers have these types by sink_worker.ts.
  return {
    flush: (options) => ask({ kind: "flush", ...options }) as Promise<FlushReport>,
    warm: () => ask({ kind: "warm" }),
    peek: () => ask({ kind: "peek" }) as Promise<Peek>,
    query: (sql, limits, patience_ms) =>
      ask({ kind: "query", sql, limits, patience_ms }) as Promise<QueryResult>,
    series: (key, points, patience_ms) =>
      ask({ kind: "series", key, points, patience_ms }) as Promise<Series>,
    exportParquet: (sql, out, limits, patience_ms) =>
      ask({ kind: "export", sql, out: resolve(out), limits, patience_ms }) as Promise<number>,
    exportTables: (directory, patience_ms) =>
      ask({ kind: "export_tables", directory, patience_ms }) as Promise<ExportedTables>,
    exportSelects: async (directory, selects, patience_ms) => {
      await ask({ kind: "export_selects", directory, selects, patience_ms });
    },
    rebuild: () => ask({ kind: "rebuild" }) as Promise<Rebuilt>,
    async close() {
      if (!open) return;
      open = false;
      if (--entry.users > 0) return;
      shared.delete(paths.root);
      const closed = entry.ask({ kind: "close" });
      closing.set(paths.root, closed);
      await closed;
      if (closing.get(paths.root) === closed) closing.delete(paths.root);
    },
  };
}
