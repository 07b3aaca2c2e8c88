import { runOwners } from "../shelf/writers.ts";
import { shelfJournals } from "../shelf/shelf.ts";
import type { StorePaths } from "../store_paths.ts";
import type { Obstacle } from "./obstacle.ts";
import { type OpenDatabase, type OpenOptions, openPatiently } from "./open_database.ts";
import { type Coverage, coverage, foreignPlace, indexPlaces } from "./places.ts";
import { findSchema } from "./schema.ts";
import { hasCalls } from "./take_calls.ts";
import { hasQueue } from "./take_queue.ts";

/**
 * The index may lack the last records while somebody writes, who waits while something is timed, and takes
 * them over then; not more.
 */
const MOSTLY = 0.9;

/** Whether little is lacking, and somebody writes who takes it over in a moment. */
function isNearly(paths: StorePaths, { database_bytes, journal_bytes }: Coverage): boolean {
  return database_bytes >= MOSTLY * journal_bytes && runOwners(paths).length > 0;
}

/** Whether there is nothing left to take over or to make anew. */
async function isCurrent({ connection }: OpenDatabase, paths: StorePaths): Promise<boolean> {
  try {
    const schema = await findSchema(connection);
    if (schema.newer) return true; // it says so itself
    if (!schema.current) return false;
    if (!await hasQueue(connection, paths) || !await hasCalls(connection, paths)) return false;
    const journals = shelfJournals(paths);
    const places = await indexPlaces(connection);
    const covered = coverage(journals, places);
    if (covered.lacking.length > 0 && !isNearly(paths, covered)) return false;
    return await foreignPlace(journals, places) === null;
  } catch {
    return false;
  }
}

export interface CurrentOptions extends OpenOptions {
  patience_ms: number;
  /** Whether the index is to have what is on the shelf; false: it is opened as it is. */
  current: boolean;
}

/** Whether an index that cannot be brought up to date is one that this version's questions fit. */
export async function hasOwnForm({ database }: StorePaths): Promise<boolean> {
  const opened = await openPatiently(database, { readOnly: true, patience_ms: 300 });
  if ("obstacle" in opened) return false;
  try {
    return (await findSchema(opened.connection)).current;
  } catch {
    return false;
  } finally {
    opened.close();
  }
}

/** Opens the index; "behind" where it is not as far as it is to be, and closed again. */
export async function openCurrent(
  paths: StorePaths,
  { current, ...options }: CurrentOptions,
): Promise<OpenDatabase | Obstacle | "behind"> {
  const opened = await openPatiently(paths.database, options);
  if ("obstacle" in opened || !current) return opened;
  if (await isCurrent(opened, paths)) return opened;
  opened.close();
  return "behind";
}
