import { runOwners } from "../shelf/writers.ts";
import type { StorePaths } from "../store_paths.ts";

/** How long an answered query leaves the database open: opening it takes longer than most answers. */
const KEEP_MS = 1_000;

/** The database opened for reading, in this process or in another one. */
export interface Reader {
  close(): void | Promise<void>;
}

/** Whether this process alone writes the store: a database that it leaves open is in nobody's way. */
export function writesStore(paths: StorePaths): boolean {
  const owners = runOwners(paths);
  return owners.length > 0 && owners.every(({ pid, host }) => pid === Deno.pid && host === "");
}

/** Leaves one reader open for a moment after it answered. */
export class Keeper<R extends Reader> {
  #kept: { database: string; reader: R; timer: ReturnType<typeof setTimeout> } | null = null;

  /** The database as the last query left it, for the one who asks; null: open it. */
  async take(paths: StorePaths): Promise<R | null> {
    if (this.#kept?.database !== paths.database) await this.close();
    const reader = this.#kept?.reader ?? null;
    if (this.#kept !== null) clearTimeout(this.#kept.timer);
    this.#kept = null;
    return reader;
  }

  /** Leaves a database open for the next query. */
  keep(paths: StorePaths, reader: R): void {
    const timer = setTimeout(() => void this.close(), KEEP_MS);
    Deno.unrefTimer(timer);
    this.#kept = { database: paths.database, reader, timer };
  }

  /** Closes what a query left open, which everything else but a query must do first. */
  async close(): Promise<void> {
    if (this.#kept === null) return;
    const { timer, reader } = this.#kept;
    this.#kept = null;
    clearTimeout(timer);
    await reader.close();
  }
}
