/// <reference lib="deno.worker" />
import { UsageError } from "../../core/mod.ts";
import type { DatabaseAnswer, DatabaseRequest, DatabaseTask } from "./database.ts";
import { flushDatabase, type FlushReport, peekDatabase, rebuildAsAsked } from "./database_tasks.ts";
import { exportTables } from "./export_tables.ts";
import { closeKept } from "./kept_reader.ts";
import { exportParquet, queryDatabase, seriesOfDatabase } from "./reading_tasks.ts";

type FlushTask = Extract<DatabaseTask, { kind: "flush" }>;

/** Readers in other processes try every 24 ms at the latest: a gap of this length lets them in. */
const LONGEST_GAP_MS = 60;
let openFor = 0;
let closedAt = -Infinity;

/** Leaves the file closed as long as it was open, so that flushes in a row starve no reader. */
async function flushWithGap(
  { paths, task }: { paths: DatabaseRequest["paths"]; task: FlushTask },
): Promise<FlushReport> {
  const rest = closedAt + Math.min(openFor, LONGEST_GAP_MS) - performance.now();
  if (rest > 0) await new Promise((resolve) => setTimeout(resolve, rest));
  const started = performance.now();
  try {
    return await flushDatabase(paths, task.to, task);
  } finally {
    closedAt = performance.now();
    openFor = closedAt - started;
  }
}

function answer({ paths, task }: DatabaseRequest): Promise<unknown> {
  if (!["query", "series", "warm"].includes(task.kind)) closeKept();
  switch (task.kind) {
    case "flush":
      return flushWithGap({ paths, task });
    case "peek":
      return peekDatabase(paths);
    case "query":
      return queryDatabase(paths, task.sql, task.limits, task.patience_ms);
    case "series":
      return seriesOfDatabase(paths, task.key, task.points, task.patience_ms);
    case "export":
      return exportParquet(paths, task.sql, task.out, task.limits, task.patience_ms);
    case "export_tables":
      return exportTables(paths, task.directory, task.patience_ms);
    case "rebuild":
      return rebuildAsAsked(paths, task.to);
    case "warm":
    case "close":
      return Promise.resolve(null);
  }
}

async function reply(request: DatabaseRequest): Promise<void> {
  const { id } = request;
  let message: DatabaseAnswer;
  try {
    message = { id, ok: true, value: await answer(request) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    message = { id, ok: false, usage: error instanceof UsageError, message: text };
  }
  self.postMessage(message);
  if (request.task.kind === "close") self.close();
}

// One task at a time: the database file is open at most once in a process.
let last: Promise<void> = Promise.resolve();
self.onmessage = (event: MessageEvent<DatabaseRequest>) => {
  last = last.then(() => reply(event.data));
};
