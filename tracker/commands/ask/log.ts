import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { UsageError } from "../../../core/mod.ts";
import { sha256File } from "../../ground/storage/file_hash.ts";
import { findTrial } from "../../lab/find_study.ts";
import { findHome } from "../../ground/home.ts";
import { openStore, type Store } from "../../store/store.ts";
import { findSubject } from "../../store/subjects.ts";
import type { TrialLog } from "../../show/json/json_shapes.ts";
import { jsonText } from "../../show/json/print_json.ts";

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

/**
 * A log as a terminal would stand after it: a bar is drawn over itself by carriage returns, hundreds of
 * times in a file, and only its last state says anything.
 */
export function withoutBars(log: string): string {
  return log.split("\n")
    .map((line) => line.split("\r").findLast((state) => state.trim() !== "") ?? "")
    .join("\n");
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

/** `pare log`: what the workers of a trial wrote, call by call, held against the stored hash. */
export async function logCommand(
  name: string,
  options: { store?: string; json?: boolean },
): Promise<void> {
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  const trial = name.includes("/") ? name : (await findTrial(store, name)).trial_id;
  const study_id = trial.split("/").slice(0, -1).join("/");
  const sample = store.logPath(study_id, trial, "call");
  const prefix = basename(sample).replace(/call\.log$/, "");
  const files = await readdir(dirname(sample)).catch(() => [] as string[]);
  const own = files.filter((file) => file.startsWith(prefix)).sort();
  if (own.length === 0) throw await missing(store, trial);
  const hashes = await storedHashes(store, trial);
  const calls: TrialLog["calls"] = [];
  for (const name of own) {
    const file = join(dirname(sample), name);
    const found = await doubt(store, file, hashes);
    calls.push({
      call: name.slice(prefix.length).replace(/\.log$/, ""),
      path: file,
      text: withoutBars(await readFile(file, "utf8")).trimEnd(),
      as_recorded: found === null ? true : found.changed ? false : null,
      doubt: found?.sentence ?? null,
    });
  }
  if (calls.some(({ as_recorded }) => as_recorded === false)) Deno.exitCode = 1;
  if (options.json) return console.log(jsonText("log", { trial_id: trial, calls }));
  for (const { call, text, doubt } of calls) {
    console.log(`── ${call}`);
    console.log(text);
    if (doubt !== null) console.error(`pare: ${doubt}`);
  }
}
