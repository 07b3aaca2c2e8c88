import { existsSync } from "node:fs";
import { join, normalize } from "node:path";
import { type Artifact, type JournalRecord, UsageError } from "../../core/mod.ts";
import { sha256File } from "../ground/storage/file_hash.ts";
import { checkIndex, type Findings, type IndexFindings } from "./index/check_index.ts";
import { readJournal } from "./journal/reader.ts";
import { journalSize } from "./index/sink.ts";
import { type StorePaths, storePaths } from "./store_paths.ts";

/** A file that a record holds the hash of. */
interface HashedFile {
  path: string;
  sha256: string;
  of: string;
  /** Place of its record. */
  position: number;
}

/** What a journal names that lies outside of it. */
interface Named {
  files: Map<string, HashedFile>;
  artifacts: Map<string, Artifact>;
}

function takeNames(record: JournalRecord, position: number, { files, artifacts }: Named): void {
  if (record.type === "scored") {
    for (const { path, sha256 } of [record.scores, record.verdicts].filter((one) => one !== null)) {
      files.set(path, { path, sha256, of: record.trial_id, position });
    }
  } else if (record.type === "samples_written" || record.type === "log_written") {
    const of = record.type === "log_written" ? `log of ${record.trial_id}` : record.trial_id;
    files.set(record.path, { path: record.path, sha256: record.sha256, of, position });
  } else if (record.type === "artifact_written") {
    artifacts.set(record.artifact.artifact_id, record.artifact);
  }
}

/** Something that is damaged, with the record of the journal that it is or belongs to. */
interface Damage {
  position: number;
  text: string;
}

/** Every record read and held against its checksum and its schema. */
async function checkJournal(
  paths: StorePaths,
  size: number,
): Promise<Findings & Named & { damages: Damage[] }> {
  const named: Named = { files: new Map(), artifacts: new Map() };
  const wrong: string[] = [];
  const damages: Damage[] = [];
  let records = 0;
  let end = 0;
  for await (const entry of readJournal(paths.journal, { to: size })) {
    end = entry.next;
    if (entry.kind === "record") {
      records++;
      takeNames(entry.record, entry.offset, named);
    } else if (entry.kind === "damaged") {
      const trial = entry.trial_id === null ? "of no known trial" : `of ${entry.trial_id}`;
      const text = `the journal's record at byte ${entry.offset}, ${trial}, ${entry.reason}`;
      damages.push({ position: entry.offset, text });
    } else {
      wrong.push(`the journal's record at byte ${entry.offset} is of a newer pare; update pare`);
    }
  }
  const said = [`journal: ${records} records, ${size} bytes`];
  if (end < size) {
    said.push(
      `journal: ${size - end} bytes of a torn end, never acknowledged; cut when it is used`,
    );
  }
  return { said, wrong, damages, ...named };
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
  for (const { path, sha256, of, position } of files) {
    const inside = normalize(path);
    const found = inside.startsWith("..") || inside.startsWith("/")
      ? "lies outside the store"
      : await fault(join(paths.root, inside), sha256);
    if (found !== null) damages.push({ position, text: `${path} (${of}) ${found}` });
  }
  return { said: [`samples and logs: ${files.length} files`], damages };
}

/**
 * Where an artifact lies: as recorded, or below the artifacts of a home that was moved since. One that
 * lies in a cache has a folder there with its manifest alone, which is not the artifact.
 */
function placed(artifact: Artifact, folder: string | undefined): Artifact[] {
  const { location, artifact_id, files } = artifact;
  const moved = folder === undefined ? [] : [join(folder, artifact_id)];
  const found = [location, ...moved].find((path) =>
    existsSync(path) &&
    (files.length === 0 || files.some((file) => existsSync(join(path, file.path))))
  );
  return found === undefined ? [] : [{ ...artifact, location: found }];
}

async function checkArtifacts(
  artifacts: readonly Artifact[],
  folder: string | undefined,
): Promise<Findings> {
  const wrong: string[] = [];
  const there = artifacts.flatMap((artifact) => placed(artifact, folder));
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
 * `artifacts` is the folder of the home's artifacts: they are looked for there, too.
 */
export async function checkStore(
  directory: string,
  { artifacts }: { artifacts?: string } = {},
): Promise<Findings> {
  const paths = storePaths(await Deno.realPath(directory).catch(() => directory));
  const size = journalSize(paths.journal);
  if (size === 0) {
    throw new UsageError(`Cannot check the store ${paths.root} as nothing is recorded there`);
  }
  const journal = await checkJournal(paths, size);
  const index = await checkIndex(paths, size);
  const files = await checkFiles(paths, [...journal.files.values()]);
  const models = await checkArtifacts([...journal.artifacts.values()], artifacts);
  const logs = new Set(
    [...journal.files.values()].filter(({ of }) => of.startsWith("log of "))
      .map(({ position }) => position),
  );
  const damages = [
    ...journal.damages.map((one) => `${one.text}; ${elsewhere(one, index)}`),
    ...files.damages.map((one) =>
      logs.has(one.position) ? one.text : `${one.text}; ${elsewhere(one, index)}`
    ),
  ];
  return {
    said: [journal, index, files, models].flatMap(({ said }) => said),
    wrong: [...journal.wrong, ...damages, ...index.wrong, ...models.wrong],
  };
}

/** Whether the index still has what a damaged record or samples file said, and what follows. */
function elsewhere({ position }: Damage, { held, offset }: IndexFindings): string {
  const whole = held.find((one) => one.position === position);
  if (whole?.carried) {
    return `only the index holds it now (${whole.type}), whole, as the table recovered says: keep pare.duckdb`;
  }
  if (whole !== undefined) {
    return `only the index holds it now (${whole.type}), whole: keep pare.duckdb; ` +
      "`pare store rebuild` carries it over and lists it in the table recovered";
  }
  if (offset === null) return "the index cannot be asked for it";
  return offset <= position
    ? "the index had not read it yet"
    : "the index does not hold it either: a copy of the store may";
}
