/// <reference lib="deno.worker" />
import { UsageError } from "../../core/mod.ts";
import type { DatabaseAnswer, DatabaseRequest } from "./database.ts";
import { flushDatabase, peekDatabase, rebuildDatabase } from "./database_tasks.ts";
import { exportTables } from "./export_tables.ts";
import { exportParquet, queryDatabase, seriesOfDatabase } from "./reading_tasks.ts";

function answer({ paths, task }: DatabaseRequest): Promise<unknown> {
  switch (task.kind) {
    case "flush":
      return flushDatabase(paths, task.to, task);
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
      return rebuildDatabase(paths, task.to);
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
