import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { sha256File } from "../storage/file_hash.ts";
import { findTrial } from "../find_study.ts";
import { findHome } from "../home.ts";
import { openStore, type Store } from "../store/store.ts";
import { findSubject } from "../store/subjects.ts";

interface StoredLog {
  path: string;
  sha256: string;
}

/** Hashes of a trial's logs by path; null where somebody else has the index open. */
async function storedHashes(store: Store, trial: string): Promise<Map<string, string> | null> {
  try {
    const rows = await store.ask("SELECT path, sha256 FROM logs WHERE trial_id = $trial", {
      params: { trial },
    });
    const logs = rows as unknown as StoredLog[]; // the columns asked for
    return new Map(logs.map(({ path, sha256 }) => [path, sha256]));
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** What the stored hash says of a log: nothing to say, or a sentence. */
async function doubt(
  store: Store,
  file: string,
  hashes: Map<string, string> | null,
): Promise<{ changed: boolean; sentence: string } | null> {
  const path = relative(store.paths.root, file);
  if (hashes === null) {
    return { changed: false, sentence: `${path} is not verified: another process has the index` };
  }
  const wanted = hashes.get(path);
  if (wanted === undefined) {
    return { changed: false, sentence: `${path} is not verified: no hash was recorded for it` };
  }
  const found = await sha256File(file);
  return found === wanted ? null : {
    changed: true,
    sentence: `${path} was changed since it was kept: sha256 must be ${wanted}, it is ${found}`,
  };
}

/** Why a trial has no log to show; a name that nobody knows gets the nearest. */
async function missing(store: Store, trial: string): Promise<UsageError> {
  await findSubject(store, trial);
  const kept = [...(await storedHashes(store, trial))?.keys() ?? []];
  const reason = kept.length === 0
    ? "none was kept for it"
    : `${kept.join(" and ")} ${kept.length === 1 ? "is" : "are"} gone from ${store.paths.root}`;
  return new UsageError(`Cannot show the log of ${trial}: ${reason}`);
}

/** `pare log`: what the workers of a trial wrote, stage by stage, held against the stored hash. */
export async function logCommand(name: string, options: { store?: string }): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const trial = name.includes("/") ? name : (await findTrial(store, name)).trial_id;
  const study_id = trial.split("/").slice(0, -1).join("/");
  const sample = store.logPath(study_id, trial, "stage");
  const prefix = basename(sample).replace(/stage\.log$/, "");
  const files = await readdir(dirname(sample)).catch(() => [] as string[]);
  const own = files.filter((file) => file.startsWith(prefix)).sort();
  if (own.length === 0) throw await missing(store, trial);
  const hashes = await storedHashes(store, trial);
  for (const name of own) {
    const file = join(dirname(sample), name);
    console.log(`── ${name.slice(prefix.length).replace(/\.log$/, "")}`);
    console.log((await readFile(file, "utf8")).trimEnd());
    const found = await doubt(store, file, hashes);
    if (found !== null) console.error(`pare: ${found.sentence}`);
    if (found?.changed) Deno.exitCode = 1;
  }
}
