import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { flushDatabase } from "./database_tasks.ts";
import { type OpenDatabase, openPatiently } from "./open_database.ts";
import { findSchemaToWrite } from "./schema.ts";
import { carryOver, type Recovered } from "./carry_over.ts";
import { exists } from "../../ground/storage/set_aside.ts";
import { shelfJournals } from "../shelf/shelf.ts";
import { coverage, type Ends, indexPlaces, type Places } from "./places.ts";
import { QUEUE_TABLES } from "../queue/job_rows.ts";
import type { StorePaths } from "../store_paths.ts";
import { hasCalls } from "./take_calls.ts";
import { hasQueue } from "./take_queue.ts";

/** What was looked at, and what is wrong. */
export interface Findings {
  said: string[];
  wrong: string[];
}

/** What was found of the index, and what it holds that the journal says no longer. */
export interface IndexFindings extends Findings {
  readonly held: readonly Recovered[];
  /** How much of each journal it has read; null: it cannot be read. */
  readonly places: Places | null;
}

const WHAT_TO_DO = "`pare store rebuild` makes it anew and keeps this one beside it";
/** What says of an index where its rows come from. */
const ORIGIN = ["problems", "recovered", "journals"];

const QUEUE = ["queue_place", ...QUEUE_TABLES];
const CALLS = ["assistant_place", "assistant_calls"];

/** Rows of each table and a sum over their hashes, which does not depend on their order. */
type Contents = Map<string, { rows: number; hash: string }>;

async function contentsOf(connection: DuckDBConnection): Promise<Contents> {
  const tables = await connection.runAndReadAll(
    "SELECT table_name FROM duckdb_tables() WHERE table_name <> 'schema_migrations' ORDER BY 1",
  );
  const contents: Contents = new Map();
  for (const [name] of tables.getRows()) {
    const result = await connection.runAndReadAll(
      `SELECT count(*), coalesce(sum(hash(t)::HUGEINT), 0)::VARCHAR FROM "${name}" t`,
    );
    const [rows, hash] = result.getRows()[0]!;
    contents.set(String(name), { rows: Number(rows), hash: String(hash) });
  }
  return contents;
}

function differences(index: Contents, journal: Contents): string[] {
  return [...new Set([...index.keys(), ...journal.keys()])].sort().flatMap((table) => {
    const [found, wanted] = [index.get(table), journal.get(table)];
    if (found?.hash === wanted?.hash && found?.rows === wanted?.rows) return [];
    const counts = found?.rows === wanted?.rows
      ? `${found?.rows} rows, not the same ones`
      : `${found?.rows ?? "no"} rows, the journal gives ${wanted?.rows ?? "none"}`;
    return [`the index is not what its journal says in ${table}: ${counts}; ${WHAT_TO_DO}`];
  });
}

async function openIndex(paths: StorePaths): Promise<OpenDatabase | string> {
  const opened = await openPatiently(paths.database, { readOnly: true, patience_ms: 2_000 });
  if (!("obstacle" in opened)) return opened;
  if (opened.obstacle === "damaged") return `the index is damaged: ${opened.reason}; ${WHAT_TO_DO}`;
  const who = opened.holder === null
    ? "another process"
    : `process ${opened.holder.pid} (${opened.holder.command})`;
  return `the index cannot be checked as ${who} has it open; close it there and check again`;
}

/** The index as it is, and how much of each journal it has; a sentence where it cannot be read. */
async function readIndex(
  paths: StorePaths,
): Promise<
  { contents: Contents; places: Places; queue: boolean; calls: boolean } | { old: number } | string
> {
  const opened = await openIndex(paths);
  if (typeof opened === "string") return opened;
  try {
    const { version, current } = await findSchemaToWrite(opened.connection, paths.database);
    if (!current) return { old: version };
    const places = await indexPlaces(opened.connection);
    const queue = await hasQueue(opened.connection, paths);
    const calls = await hasCalls(opened.connection, paths);
    return { contents: await contentsOf(opened.connection), places, queue, calls };
  } catch (error) {
    return `the index cannot be read: ${(error as Error).message}; ${WHAT_TO_DO}`;
  } finally {
    opened.close();
  }
}

/** What the journals give up to places, in a database that is thrown away again. */
async function rebuilt(
  paths: StorePaths,
  to: Ends,
): Promise<{ contents: Contents; held: Recovered[] }> {
  const folder = await Deno.makeTempDir({ prefix: "pare-check-" });
  try {
    const fresh = { ...paths, database: join(folder, "pare.duckdb") };
    await flushDatabase(fresh, to, { patience_ms: 0, keep_log: false, budget_ms: Infinity });
    const held = await carryOver(fresh.database, paths.database);
    const opened = await openPatiently(fresh.database, { readOnly: true, patience_ms: 0 });
    if ("obstacle" in opened) throw new Error(`Cannot read ${fresh.database}, just made`);
    try {
      return { contents: await contentsOf(opened.connection), held };
    } finally {
      opened.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What is to be done where the index has read more of a journal than there is. */
function cutSentence(name: string, offset: number, bytes: number): string {
  const what = bytes === 0 ? `the journal ${name} is gone` : `the journal ${name} was cut`;
  return `${what}: it has ${bytes} bytes, and the index has read ${offset}; what is wanting only the ` +
    "index holds: put the journal back from a copy before anything writes here, which would put this " +
    "index aside as pare.duckdb.damaged-N";
}

/**
 * Holds the index against the one that `pare store rebuild` would make, table by table; changes
 * nothing.
 */
export async function checkIndex(paths: StorePaths): Promise<IndexFindings> {
  const unread = { held: [], places: null };
  if (!exists(paths.database)) return { said: ["index: none yet"], wrong: [], ...unread };
  const index = await readIndex(paths);
  if (typeof index === "string") return { said: [], wrong: [index], ...unread };
  if ("old" in index) {
    const said = `index: schema ${index.old}, made anew when it is next used`;
    return { said: [said], wrong: [], ...unread };
  }
  const { places } = index;
  const journals = shelfJournals(paths);
  const sizes = new Map(journals.map(({ name, bytes }) => [name, bytes]));
  const cut = [...places].flatMap(([name, { offset }]) => {
    const bytes = sizes.get(name) ?? 0;
    return offset > bytes ? [cutSentence(name, offset, bytes)] : [];
  });
  if (cut.length > 0) return { said: [], wrong: cut, held: [], places };
  const to = Object.fromEntries([...places].map(([name, { offset }]) => [name, offset]));
  const { contents: wanted, held } = await rebuilt(paths, to);
  const rows = [...index.contents.values()].reduce((sum, table) => sum + table.rows, 0);
  const { journal_bytes, database_bytes } = coverage(journals, places);
  const behind = journal_bytes - database_bytes;
  const said = `index: ${rows} rows in ${index.contents.size} tables` +
    (behind > 0 ? `, ${behind} bytes of the journals behind` : "");
  // Of the queue nothing is kept but how it stands: an index that is behind it cannot be held against it.
  const apart = [
    ...held.length > 0 ? ORIGIN : [],
    ...index.queue ? [] : QUEUE,
    ...index.calls ? [] : CALLS,
  ];
  for (const name of apart) {
    wanted.delete(name);
    index.contents.delete(name);
  }
  return { said: [said], wrong: differences(index.contents, wanted), held, places };
}
