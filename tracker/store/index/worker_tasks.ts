import type { DatabaseRequest, DatabaseTask } from "./database.ts";
import { flushDatabase, type FlushReport, peekDatabase, rebuildAsAsked } from "./database_tasks.ts";
import { exportSelects, exportTables } from "../export_tables.ts";
import { endQueryProcess } from "../query/query_process.ts";
import { closeKeptQuery, exportParquet, queryDatabase } from "../query/query_tasks.ts";
import { closeKeptHere, seriesOfDatabase } from "../query/reading_tasks.ts";

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
    return await flushDatabase(paths, "all", task);
  } finally {
    closedAt = performance.now();
    openFor = closedAt - started;
  }
}

/** Does what the worker is asked. */
export async function answer({ paths, task }: DatabaseRequest): Promise<unknown> {
  if (!["query", "series", "warm"].includes(task.kind)) {
    await closeKeptQuery();
    await closeKeptHere();
  }
  switch (task.kind) {
    case "flush":
      return await flushWithGap({ paths, task });
    case "peek":
      return await peekDatabase(paths);
    case "query":
      return await queryDatabase(paths, task.sql, task.limits, task.patience_ms);
    case "series":
      return await seriesOfDatabase(paths, task.key, task.points, task.patience_ms);
    case "export":
      return await exportParquet(paths, task.sql, task.out, task.limits, task.patience_ms);
    case "export_tables":
      return await exportTables(paths, task.directory, task.patience_ms);
    case "export_selects":
      return await exportSelects(paths, task.directory, task.selects, task.patience_ms);
    case "rebuild":
      return await rebuildAsAsked(paths);
    case "close":
      endQueryProcess();
      return null;
    case "warm":
      return null;
  }
}
