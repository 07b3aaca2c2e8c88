/**
 * The process of queries of this thread. Nothing is imported here but what starts it, since all else
 * can be loaded while it starts.
 */
import { fileURLToPath } from "node:url";
import { type Child, startChild } from "../../../python-backends/child/start_child.ts";

const PROGRAM = fileURLToPath(new URL("./process.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));
/**
 * DuckDB's allocator keeps the addresses of what it freed, and the kernel counts them: a query that
 * went on to disk was at 4.7 GB then, at 2.6 GB without (2.1 GB resident in both).
 */
const GIVES_BACK = { DUCKDB_JE_MALLOC_CONF: "retain:false" };

let running: Child | null = null;

/** The process, which is started where there is none: it takes a moment until it can be asked. */
export function startQueryProcess(): Child {
  if (running !== null) return running;
  const words = ["run", "--quiet", "--no-check", "--allow-all", "--config", CONFIG, PROGRAM];
  running = startChild({ argv: [Deno.execPath(), ...words], env: GIVES_BACK });
  running.unref();
  return running;
}

/** The number of the process that runs; null: none does. */
export function queryProcess(): number | null {
  return running?.pid ?? null;
}

/** Ends a process, which holds no database then; the next request starts another. */
export function endQueryProcess(one = running): void {
  one?.kill();
  if (one === running) running = null;
}
