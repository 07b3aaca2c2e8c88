import { existsSync } from "node:fs";
import {
  comparableStudy,
  frontOf,
  type JournalRecord,
  replayStudy,
  withNewestScores,
} from "../../core/mod.ts";
import type { ArtifactStore } from "../artifacts/artifact_store.ts";
import type { ArtifactClaims } from "../artifacts/garbage.ts";
import { readJournal } from "../store/journal/reader.ts";
import { studyOf } from "../store/journal/record_line.ts";
import { type ShelfJournal, shelfJournals } from "../store/shelf/shelf.ts";
import { storePaths } from "../store/store_paths.ts";

/** What one store says of artifacts. */
interface StoreClaims {
  /** Those that stay for it. */
  readonly keep: ReadonlySet<string>;
  /** Every one that it names. */
  readonly known: ReadonlySet<string>;
  /** Models and datasets of studies that have not ended, as they were given. */
  readonly named: ReadonlySet<string>;
  /** Why it cannot say all that stays; null: it can. */
  readonly unsure: string | null;
}

const NONE: ReadonlySet<string> = new Set();
const SILENT = { keep: NONE, known: NONE, named: NONE };

/** Stores as they were read last: one whose journals have not grown says the same. */
const read = new Map<string, { stamp: string; claims: StoreClaims }>();

/** What the store at `root` keeps, by its journals: the index may be behind, held or damaged. */
async function storeClaims(root: string): Promise<StoreClaims> {
  let journals: ShelfJournal[];
  try {
    if (!existsSync(root)) return { ...SILENT, unsure: "it is not there" };
    journals = shelfJournals(storePaths(root));
  } catch (error) {
    return { ...SILENT, unsure: (error as Error).message };
  }
  if (journals.length === 0) return { ...SILENT, unsure: "nothing is recorded there yet" };
  const stamp = journals.map(({ name, stamp }) => `${name} ${stamp}`).join("\n");
  const before = read.get(root);
  if (before?.stamp === stamp) return before.claims;
  const claims = await shelfClaims(journals);
  read.set(root, { stamp, claims });
  return claims;
}

async function shelfClaims(journals: readonly ShelfJournal[]): Promise<StoreClaims> {
  const studies = new Map<string, JournalRecord[]>();
  let unsure: string | null = null;
  try {
    for (const { path, name } of journals) {
      for await (const entry of readJournal(path, { without: "points" })) {
        if (entry.kind === "newer") return { ...SILENT, unsure: "a newer pare wrote it" };
        if (entry.kind === "damaged") unsure = `${name} is damaged at byte ${entry.offset}`;
        if (entry.kind !== "record") continue;
        const study = studyOf(entry.record);
        const records = studies.get(study);
        if (records === undefined) studies.set(study, [entry.record]);
        else records.push(entry.record);
      }
    }
  } catch (error) {
    return { ...SILENT, unsure: (error as Error).message };
  }
  const all = [...studies.values()].flat();
  const known = new Set(
    all.flatMap((record) =>
      record.type === "artifact_written" ? [record.artifact.artifact_id] : []
    ),
  );
  // The damaged record may be the one that says what stays.
  if (unsure !== null) return { keep: known, known, named: new Set(all.flatMap(namedBy)), unsure };
  const open = [...studies.values()].filter(goesOn).flat();
  const named = new Set(open.flatMap(namedBy));
  return { keep: new Set([...studies].flatMap(keptOfStudy)), known, named, unsure: null };
}

function namedBy(record: JournalRecord): string[] {
  return record.type === "study_opened" ? [record.request.model_name, record.request.dataset] : [];
}

/**
 * Artifacts that stay for a study: what stands on its front, what it recommends, and what an
 * unfinished one still works on: its baseline, and trials that are running or held open.
 */
function keptOfStudy([study_id, records]: [string, JournalRecord[]]): string[] {
  const study = replayStudy(records, study_id);
  if (study === null) return [];
  const recommended = records.flatMap((record) =>
    record.type === "study_closed" && record.recommended !== null ? [record.recommended] : []
  );
  // By the scores that were decided by, and by the newest.
  const front = [study, withNewestScores(study)].flatMap(({ trials, opened }) =>
    frontOf(comparableStudy(trials, opened.spec)).members.map(({ trial }) => trial)
  );
  const named = study.trials.filter((trial) => recommended.includes(trial.trial_id));
  const last = [...front, ...named].flatMap(({ artifact_ids }) => artifact_ids.slice(-1));
  return [...last, ...unfinished(records, study.open.map(({ trial_id }) => trial_id))];
}

/** Whether a study is not closed. */
function goesOn(records: readonly JournalRecord[]): boolean {
  const last = records.findLast(({ type }) => type === "study_closed" || type === "study_resumed");
  return last?.type !== "study_closed";
}

/** Artifacts of open trials, and the root of every one while the study is not closed. */
function unfinished(records: readonly JournalRecord[], open: readonly string[]): string[] {
  const running = goesOn(records);
  return records.flatMap((record) => {
    if (record.type !== "artifact_written") return [];
    const { trial_id, artifact } = record;
    return open.includes(trial_id) || running && artifact.parent_id === null
      ? [artifact.artifact_id]
      : [];
  });
}

/**
 * What every store that has used these artifacts says of them, and the stores in `also`, which may
 * have used them before that was written down. A store that cannot say keeps all that it used.
 */
export async function artifactClaims(
  artifacts: Pick<ArtifactStore, "claimants" | "list">,
  also: readonly string[],
): Promise<ArtifactClaims & Pick<StoreClaims, "named">> {
  const keep = new Set<string>();
  const named = new Set<string>();
  const known = new Set<string>();
  const unsure: { store: string; reason: string }[] = [];
  const listed = artifacts.claimants();
  for (const { store, artifact_ids, damaged } of listed) {
    if (damaged) {
      for (const { artifact_id } of await artifacts.list()) keep.add(artifact_id);
      const reason =
        "it is the list of what a store uses, and damaged: nothing goes until that store " +
        "uses an artifact again, or you remove the list";
      unsure.push({ store, reason });
      continue;
    }
    const claims = await storeClaims(store);
    for (const id of [...claims.known, ...artifact_ids]) known.add(id);
    for (const name of claims.named) named.add(name);
    for (const id of claims.unsure === null ? claims.keep : [...claims.keep, ...artifact_ids]) {
      keep.add(id);
    }
    if (claims.unsure !== null) unsure.push({ store, reason: claims.unsure });
  }
  for (const root of also) {
    const store = existsSync(root) ? Deno.realPathSync(root) : root;
    if (listed.some((one) => one.store === store)) continue;
    const claims = await storeClaims(store);
    for (const id of claims.known) known.add(id);
    for (const id of claims.keep) keep.add(id);
    for (const name of claims.named) named.add(name);
  }
  return { keep, known, named, unsure };
}
