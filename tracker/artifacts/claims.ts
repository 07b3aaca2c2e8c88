import { join } from "node:path";
import { z } from "zod";
import { sha256Text } from "../ground/storage/file_hash.ts";

/** The first line of a store's list; each line behind it is the id of an artifact. */
const Head = z.object({ store: z.string() });

/** A store that has used artifacts from here, and which, whatever became of the store. */
export interface Claimant {
  /** Where the store was when it used them. */
  readonly store: string;
  readonly artifact_ids: ReadonlySet<string>;
}

/** Writes down what one store uses. */
export interface ClaimList {
  /** On disk when it returns; an artifact that stands there already costs nothing. */
  add(artifact_id: string): void;
}

function listPath(directory: string, store: string): string {
  return join(directory, `${sha256Text(store).slice(0, 16)}.claims`);
}

/** The path of a store as it is known everywhere. */
function realPath(store: string): string {
  try {
    return Deno.realPathSync(store);
  } catch {
    return store; // it is made later
  }
}

/** A line that a killed process left half is none. */
function readList(path: string): Claimant | null {
  const lines = Deno.readTextFileSync(path).split("\n").slice(0, -1);
  try {
    const { store } = Head.parse(JSON.parse(lines[0] ?? ""));
    const ids = lines.slice(1).filter((line) => /^[0-9a-f]{16}$/.test(line));
    return { store, artifact_ids: new Set(ids) };
  } catch {
    return null;
  }
}

/** The list of the store at `store` in a directory of lists; made with the first artifact. */
export function openClaims(directory: string, store: string): ClaimList {
  let known: Set<string> | null = null;
  return {
    add(artifact_id) {
      if (known?.has(artifact_id)) return;
      const real = realPath(store);
      const path = listPath(directory, real);
      let there: Claimant | null = null;
      try {
        there = readList(path);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
      known = new Set(there?.artifact_ids);
      if (known.has(artifact_id)) return;
      const head = there === null ? `${JSON.stringify({ store: real })}\n` : "";
      const file = Deno.openSync(path, {
        create: true,
        ...(there === null ? { write: true, truncate: true } : { append: true }),
      });
      try {
        file.writeSync(new TextEncoder().encode(`${head}${artifact_id}\n`));
        file.syncDataSync();
      } finally {
        file.close();
      }
      known.add(artifact_id);
    },
  };
}

/** Every store that has used artifacts from here. */
export function claimants(directory: string): Claimant[] {
  const found: Claimant[] = [];
  for (const { name } of Deno.readDirSync(directory)) {
    const list = name.endsWith(".claims") ? readList(join(directory, name)) : null;
    if (list !== null) found.push(list);
  }
  return found.sort((a, b) => a.store < b.store ? -1 : 1);
}

/** Forgets a store: what only it used may go. False: it is not known. */
export function forgetClaims(directory: string, store: string): boolean {
  const path = listPath(directory, realPath(store));
  try {
    Deno.removeSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
