/** Whether something, also a broken link, has this name. */
export function exists(path: string): boolean {
  return identityOf(path) !== null;
}

/** What stands at a path, so that it is known again; null: nothing. */
export function identityOf(path: string): string | null {
  try {
    const { dev, ino } = Deno.lstatSync(path);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

/** Gives what stands at a path another name, which nothing has: that is refused, not replaced. */
function moveTo(path: string, free: string): void {
  if (Deno.lstatSync(path).isFile) {
    try {
      Deno.linkSync(path, free);
      return Deno.removeSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) throw error;
      // A file system without links: the name was looked at a moment ago.
    }
  }
  Deno.renameSync(path, free);
}

/**
 * Moves a database, or another file, out of the way, as `NAME.damaged-N`; it is kept. Gives its new name; null: there
 * is nothing, or not what `identity` names any more, as another process has made it anew.
 */
export function setAside(database: string, identity: string | null): string | null {
  const log = `${database}.wal`;
  for (let n = 1;; n++) {
    const kept = `${database}.damaged-${n}`;
    if (exists(kept) || exists(`${kept}.wal`)) continue;
    if (identityOf(database) !== identity || identity === null && !exists(log)) return null;
    try {
      if (identity !== null) moveTo(database, kept);
      if (exists(log)) moveTo(log, `${kept}.wal`);
      return kept;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
  }
}

/** Gives a closed database a second name, `NAME.replaced-N`, so that another may take its place. */
export function keepReplaced(database: string): string {
  for (let n = 1;; n++) {
    const kept = `${database}.replaced-${n}`;
    if (exists(kept)) continue;
    try {
      Deno.linkSync(database, kept);
      return kept;
    } catch (error) {
      if (error instanceof Deno.errors.AlreadyExists) continue;
      Deno.copyFileSync(database, kept); // a file system without links
      return kept;
    }
  }
}

/** Removes a database that is of no use to anybody, with its write-ahead log. */
export function removeDatabase(database: string): void {
  for (const path of [database, `${database}.wal`]) {
    if (exists(path)) Deno.removeSync(path, { recursive: true });
  }
}
