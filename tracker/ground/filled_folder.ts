import { existsSync, readdirSync } from "node:fs";
import { UsageError } from "../../core/errors.ts";

/** When a folder that is written once may be written again. */
export interface Again {
  readonly force: boolean;
  /** What --force does, such as `replace an earlier export`. */
  readonly does: string;
  /** Why what lies there is none of pare's own; null: it is, and may be written again. */
  readonly foreign: (names: readonly string[]) => string | null;
}

/** Refuses a folder with something in it; `doing`: such as `export to`. raises: UsageError */
export function checkFolder(directory: string, doing: string, again?: Again): void {
  if (!existsSync(directory)) return;
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch (error) {
    throw new UsageError(`Cannot ${doing} ${directory}: ${(error as Error).message}`);
  }
  if (names.length === 0) return;
  if (again === undefined || !again.force) {
    const force = again === undefined ? "" : `, or --force to ${again.does}`;
    throw new UsageError(
      `Cannot ${doing} ${directory} as it is not empty: give a new folder${force}`,
    );
  }
  const why = again.foreign(names);
  if (why !== null) throw new UsageError(`Cannot ${why}: give a new folder`);
}
