import { basename, join } from "node:path";
import { z } from "zod";
import { writeAll, writeWholeText } from "../../python-backends/whole_file.ts";
import { sha256Text } from "../ground/storage/file_hash.ts";

/** The first line of a store's list; each line behind it is the id of an artifact. */
const Head = z.object({ store: z.string() });

/** A store that has used artifacts from here, and which, whatever became of the store. */
export interface Claimant {
  /** Where the store was when it used them; of a list that is damaged, the list itself. */
  readonly store: string;
  readonly artifact_ids: ReadonlySet<string>;
  /** Nobody can say which store it is, nor all that it used. */
  readonly damaged: boolean;
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

/** A line that a killed process left half is none. A list is called by its store, so that a flipped bit shows. */
function readList(path: string): Claimant {
  const [head = "", ...rest] = Deno.readTextFileSync(path).split("\n").slice(0, -1);
  const artifact_ids = new Set(rest.filter((line) => /^[0-9a-f]{16}$/.test(line)));
  try {
    const { store } = Head.parse(JSON.parse(head));
    if (basename(listPath("", store)) === basename(path)) {
      return { store, artifact_ids, damaged: false };
    }
  } catch {
    // As if it named another store.
  }
  return { store: path, artifact_ids, damaged: true };
}

const NEWLINE = 0x0a;

/** Adds a line of its own: glued to what a killed process left half it would be none. */
function addLine(path: string, line: string): void {
  using file = Deno.openSync(path, { read: true, append: true });
  const last = new Uint8Array(1);
  file.seekSync(-1, Deno.SeekMode.End);
  file.readSync(last);
  writeAll(file, new TextEncoder().encode(`${last[0] === NEWLINE ? "" : "\n"}${line}\n`));
  file.syncDataSync();
}

/** What stands in a store's list; null: it has none. */
function listed(path: string): Claimant | null {
  try {
    return readList(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
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
      const there = listed(path);
      known = new Set(there?.artifact_ids);
      if (there === null || there.damaged) {
        const lines = [JSON.stringify({ store: real }), ...known, artifact_id];
        writeWholeText(path, lines.map((line) => `${line}\n`).join(""));
      } else if (!known.has(artifact_id)) addLine(path, artifact_id);
      known.add(artifact_id);
    },
  };
}

/** Every store that has used artifacts from here. */
export function claimants(directory: string): Claimant[] {
  const found: Claimant[] = [];
  for (const { name } of Deno.readDirSync(directory)) {
    if (name.endsWith(".claims")) found.push(readList(join(directory, name)));
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
