import { isPlaceOf, sinkPlace } from "../journal/mark.ts";
import type { Obstacle } from "./obstacle.ts";
import { type OpenDatabase, type OpenOptions, openPatiently } from "./open_database.ts";
import { findSchema } from "./schema.ts";
import type { StorePaths } from "../store_paths.ts";

/** Whether there is nothing left to take over or to make anew. */
async function isCurrent(
  { connection }: OpenDatabase,
  { journal }: StorePaths,
  size: number,
): Promise<boolean> {
  try {
    const schema = await findSchema(connection);
    if (!schema.current && !schema.newer) return false;
    const place = await sinkPlace(connection);
    return place.offset >= size && await isPlaceOf(journal, place);
  } catch {
    return false;
  }
}

export interface CurrentOptions extends OpenOptions {
  patience_ms: number;
  /** Bytes of the journal that the index is to have; null: as it is. */
  up_to: number | null;
}

/** Opens the index; "behind" where it is not as far as it is to be, and closed again. */
export async function openCurrent(
  paths: StorePaths,
  { up_to, ...options }: CurrentOptions,
): Promise<OpenDatabase | Obstacle | "behind"> {
  const opened = await openPatiently(paths.database, options);
  if ("obstacle" in opened || up_to === null) return opened;
  if (await isCurrent(opened, paths, up_to)) return opened;
  opened.close();
  return "behind";
}
