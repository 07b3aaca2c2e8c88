import { existsSync } from "node:fs";
import { join, normalize } from "node:path";
import { type Artifact, type JournalRecord, UsageError } from "../../core/mod.ts";
import { sha256File } from "../ground/storage/file_hash.ts";
import { placeArtifact } from "./artifact_places.ts";
import { checkIndex, type Findings, type IndexFindings } from "../store/index/check_index.ts";
import { readJournal } from "../store/journal/reader.ts";
import { type ShelfJournal, shelfJournals } from "../store/shelf/shelf.ts";
import { type StorePaths, storePaths } from "../store/store_paths.ts";

/** A file that a record holds the hash of. */
interface HashedFile {
  path: string;
  sha256: string;
  of: string;
  at: RecordPlace;
}

/** Where a record stands. */
interface RecordPlace {
  readonly journal: ShelfJournal;
  readonly offset: number;
}

/** What a journal names that lies outside of it. */
interface Named {
  files: Map<string, HashedFile>;
  artifacts: Map<string, Artifact>;
}

function takeNames(record: JournalRecord, at: RecordPlace, { files, artifacts }: Named): void {
  if (record.type === "scored") {
    for (const { path, sha256 } of [record.scores, record.verdicts].filter((one) => one !== null)) {
      files.set(path, { path, sha256, of: record.trial_id, at });
    }
  } else if (record.type === "samples_written" || record.type === "log_written") {
    const of = record.type === "log_written" ? `log of ${record.trial_id}` : record.trial_id;
    files.set(record.path, { path: record.path, sha256: record.sha256, of, at });
  } else if (record.type === "artifact_written") {
    artifacts.set(record.artifact.artifact_id, record.artifact);
  }
}

/** Something that is damaged, with the record that it is or belongs to. */
interface Damage {
  at: RecordPlace;
  text: string;
}

/** Every record of a journal read and held against its checksum and its schema. */
async function checkJournal(journal: ShelfJournal, named: Named, wrong: string[]) {
  const damages: Damage[] = [];
  let records = 0;
  let end = 0;
  for await (const entry of readJournal(journal.path, { to: journal.bytes })) {
    end = entry.next;
    const at = { journal, offset: entry.offset };
    const where = `${journal.name}: the record at byte ${entry.offset}`;
    if (entry.kind === "record") {
      records++;
      takeNames(entry.record, at, named);
    } else if (entry.kind === "damaged") {
      const trial = entry.trial_id === null ? "of no known trial" : `of ${entry.trial_id}`;
      damages.push({ at, text: `${where}, ${trial}, ${entry.reason}` });
    } else {
      wrong.push(`${where} is of a newer pare; update pare`);
    }
  }
  return { records, torn: journal.bytes - end, damages };
}

/** Every journal on the shelf. */
async function checkJournals(
  journals: readonly ShelfJournal[],
): Promise<Findings & Named & { damages: Damage[] }> {
  const named: Named = { files: new Map(), artifacts: new Map() };
  const wrong: string[] = [];
  const damages: Damage[] = [];
  const torn: string[] = [];
  let records = 0;
  for (const journal of journals) {
    const found = await checkJournal(journal, named, wrong);
    records += found.records;
    damages.push(...found.damages);
    if (found.torn > 0) {
      torn.push(
        `${journal.name}: ${found.torn} bytes of a torn end, never acknowledged; cut when it is used`,
      );
    }
  }
  const counted = journals.length === 1 ? "1 journal" : `${journals.length} journals`;
  const bytes = journals.reduce((sum, one) => sum + one.bytes, 0);
  return {
    said: [`${counted}: ${records} records, ${bytes} bytes`, ...torn],
    wrong,
    damages,
    ...named,
  };
}

/** Why a file is not what was recorded; null: it is. */
async function fault(path: string, sha256: string): Promise<string | null> {
  try {
    const found = await sha256File(path);
    return found === sha256 ? null : `was changed: sha256 must be ${sha256}, it is ${found}`;
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "is gone" : (error as Error).message;
  }
}

async function checkFiles(paths: StorePaths, files: readonly HashedFile[]) {
  const damages: Damage[] = [];
  for (const { path, sha256, of, at } of files) {
    const inside = normalize(path);
    const found = inside.startsWith("..") || inside.startsWith("/")
      ? "lies outside the store"
      : await fault(join(paths.root, inside), sha256);
    if (found !== null) damages.push({ at, text: `${path} (${of}) ${found}` });
  }
  return { said: [`samples and logs: ${files.length} files`], damages };
}

/** Whether any of its files is there; a folder without them is left of one that was removed. */
function isThere({ location, files }: Artifact): boolean {
  return files.length === 0
    ? existsSync(location)
    : files.some((file) => existsSync(join(location, file.path)));
}

async function checkArtifacts(
  artifacts: readonly Artifact[],
  store: string,
): Promise<Findings> {
  const wrong: string[] = [];
  const there = (await Promise.all(artifacts.map((one) => placeArtifact(one, store)))).filter(
    isThere,
  );
  for (const { artifact_id, location, files } of there) {
    for (const { path, sha256 } of files) {
      const found = await fault(join(location, path), sha256);
      if (found !== null) wrong.push(`artifact ${artifact_id}: ${join(location, path)} ${found}`);
    }
  }
  const removed = artifacts.length - there.length;
  const rest = removed === 0 ? "" : `; ${removed} were removed and can be made again`;
  return { said: [`artifacts: ${there.length} on this disk${rest}`], wrong };
}

/**
 * Reads everything of a store and says what is wrong: journal, the index against the journal, the
 * hashes of samples and logs, the artifacts' checksums. Changes nothing; a study may run meanwhile.
 */
export async function checkStore(directory: string): Promise<Findings> {
  const paths = storePaths(await Deno.realPath(directory).catch(() => directory));
  const shelf = shelfJournals(paths);
  if (shelf.length === 0) {
    throw new UsageError(`Cannot check the store ${paths.root} as nothing is recorded there`);
  }
  const journals = await checkJournals(shelf);
  const index = await checkIndex(paths);
  const files = await checkFiles(paths, [...journals.files.values()]);
  const models = await checkArtifacts([...journals.artifacts.values()], paths.root);
  const logs = new Set(
    [...journals.files.values()].filter(({ of }) => of.startsWith("log of ")).map(({ at }) => at),
  );
  const damages = [
    ...journals.damages.map((one) => `${one.text}; ${elsewhere(one, index)}`),
    ...files.damages.map((one) =>
      logs.has(one.at) ? one.text : `${one.text}; ${elsewhere(one, index)}`
    ),
  ];
  return {
    said: [journals, index, files, models].flatMap(({ said }) => said),
    wrong: [...journals.wrong, ...damages, ...index.wrong, ...models.wrong],
  };
}

/** Whether the index still has what a damaged record or samples file said, and what follows. */
function elsewhere({ at }: Damage, { held, places }: IndexFindings): string {
  const { journal: { name, base }, offset } = at;
  const whole = held.find((one) => one.journal === name && one.position === base + offset);
  if (whole?.carried) {
    return `only the index holds it now (${whole.type}), whole, as the table recovered says: keep pare.duckdb`;
  }
  if (whole !== undefined) {
    return `only the index holds it now (${whole.type}), whole: keep pare.duckdb; ` +
      "`pare store rebuild` carries it over and lists it in the table recovered";
  }
  if (places === null) return "the index cannot be asked for it";
  return (places.get(name)?.offset ?? 0) <= offset
    ? "the index had not read it yet"
    : "the index does not hold it either: a copy of the store may";
}
