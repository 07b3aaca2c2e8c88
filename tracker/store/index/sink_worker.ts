/// <reference lib="deno.worker" />
import { UsageError } from "../../../core/errors.ts";
import type { DatabaseAnswer, DatabaseRequest } from "./database.ts";
import { startQueryProcess } from "../query/query_process.ts";

async function reply(request: DatabaseRequest): Promise<void> {
  const { id } = request;
  let message: DatabaseAnswer;
  try {
    const { answer } = await import("./worker_tasks.ts"); // the process of queries starts meanwhile
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
  if (["query", "export"].includes(event.data.task.kind)) startQueryProcess();
  last = last.then(() => reply(event.data));
};
