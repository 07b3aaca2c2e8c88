/** Takes the queue beside a store over into its index. */
import { statSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../../core/mod.ts";
import { QueueDisk } from "../queue/queue_disk.ts";
import { queuePaths } from "../queue/queue_paths.ts";
import { makeBatch } from "../rows/batch.ts";
import { QUEUE_TABLES, queueJobChanges } from "../queue/job_rows.ts";
import type { StorePaths } from "../store_paths.ts";
import { markAt } from "./places.ts";

/** What the index calls the queue's journal. */
const JOURNAL = "queue/journal.jsonl";

/** How far an index has read the queue's journal. */
interface QueuePlace {
  /** Behind the last whole line. */
  readonly offset: number;
  /** Of the file, as it was then. */
  readonly bytes: number;
  readonly mark: string | null;
}

/** Kept, so that a long journal is read on and not anew. */
const disks = new Map<string, QueueDisk>();

function diskOf(path: string): QueueDisk {
  const disk = disks.get(path) ?? new QueueDisk(path);
  disks.set(path, disk);
  return disk;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function placeIn(connection: DuckDBConnection): Promise<QueuePlace> {
  const result = await connection.runAndReadAll("FROM queue_place");
  const [offset = 0, bytes = 0, mark = "empty"] = result.getRows()[0] ?? [];
  return {
    offset: Number(offset),
    bytes: Number(bytes),
    mark: mark === null ? null : String(mark),
  };
}

/** Whether it is the journal that the index has read, however much of it. */
function isOf(path: string, { offset, mark }: QueuePlace): boolean {
  return offset === 0 || bytesOf(path) >= offset && markAt(path, offset) === mark;
}

/** Whether the index has all that the queue's journal says. */
export async function hasQueue(
  connection: DuckDBConnection,
  { root }: StorePaths,
): Promise<boolean> {
  const { journal } = queuePaths(root);
  const place = await placeIn(connection);
  return place.bytes === bytesOf(journal) && isOf(journal, place);
}

async function write(
  connection: DuckDBConnection,
  { root }: StorePaths,
  place: QueuePlace,
): Promise<void> {
  const paths = queuePaths(root);
  const disk = diskOf(paths.journal);
  const bytes = bytesOf(paths.journal);
  const same = isOf(paths.journal, place);
  let problem: string | null = null;
  const batch = makeBatch();
  if (!same) { for (const table of QUEUE_TABLES) await connection.run(`DELETE FROM ${table}`); }
  try {
    const { jobs } = disk.current();
    for (const job_id of disk.jobsSince(same ? place.offset : 0)) {
      const job = jobs.get(job_id);
      if (job === undefined) continue;
      for (const change of queueJobChanges(job, paths)) batch.take(change);
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    problem = error.message; // rows of what was read before it stay
  }
  await connection.run("DELETE FROM problems WHERE journal = ?", [JOURNAL]);
  if (problem !== null) {
    const row = { journal: JOURNAL, position: disk.end, trial_id: null, problem };
    batch.take({ op: "add", table: "problems", row });
  }
  await batch.write(connection);
  await connection.run("DELETE FROM queue_place");
  const mark = bytes === 0 ? "empty" : markAt(paths.journal, disk.end);
  await connection.run("INSERT INTO queue_place VALUES (?, ?, ?)", [disk.end, bytes, mark]);
}

/** Takes over what the queue's journal says that the index does not have: all of it or nothing. */
export async function takeQueue(connection: DuckDBConnection, paths: StorePaths): Promise<void> {
  if (await hasQueue(connection, paths)) return;
  const place = await placeIn(connection);
  await connection.run("BEGIN");
  try {
    await write(connection, paths, place);
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
    throw error;
  }
}
