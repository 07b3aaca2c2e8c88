import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { UsageError } from "../../../core/mod.ts";

/** Where a path really leads, as far as it is there: links are followed, the rest stays words. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPath(parent), basename(path));
  }
}

/** A store's mark: what it has from its first record on. */
function isStore(folder: string): boolean {
  return ["runs", "journal.jsonl"].some((name) => existsSync(join(folder, name))) &&
    ["store.json", "lock"].some((name) => existsSync(join(folder, name)));
}

/**
 * The whole path of a file or folder that a person names for output.
 *
 * @throws UsageError where it lies in a store: what is written there could replace evidence.
 */
export function outsideStores(path: string, doing: string): string {
  const whole = resolve(path);
  for (let at = realPath(whole);; at = dirname(at)) {
    if (isStore(at)) {
      throw new UsageError(
        `Cannot ${doing} ${path} as it lies in the store ${at}, which holds only what pare records: ` +
          "give a place elsewhere",
      );
    }
    if (dirname(at) === at) return whole;
  }
}
