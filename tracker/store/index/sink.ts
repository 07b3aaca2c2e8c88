import type { DuckDBConnection } from "@duckdb/node-api";
import { type JournalRecord, UsageError } from "../../../core/mod.ts";
import { type Batch, makeBatch } from "../rows/batch.ts";
import type { Change } from "../rows/change.ts";
import { readJournal } from "../journal/reader.ts";
import { endOf, type ShelfJournal, shelfJournals } from "../shelf/shelf.ts";
import {
  type Coverage,
  coverage,
  type Ends,
  foreignPlace,
  indexPlaces,
  type Places,
  writePlaces,
} from "./places.ts";
import type { Entry } from "../journal/record_line.ts";
import { recordChanges } from "../rows/rows_of_record.ts";
import { eventChange } from "../rows/said_rows.ts";
import { scoredAgainSamples } from "../rows/scoring/scored_again_rows.ts";
import { scoredFiles } from "../rows/scoring/scored_rows.ts";
import { sampleChanges } from "../rows/sample_file.ts";
import type { StorePaths } from "../store_paths.ts";
import { takeCalls } from "./take_calls.ts";
import { takeQueue } from "./take_queue.ts";

/** Rows gathered before they are committed: bounds memory and the work lost to a kill. */
const BATCH_ROWS = 20_000;
/** Points are written in columns, millions a second. Two whole row groups, as a part is written twice. */
const BATCH_POINTS = 2 * 122_880;
/** The same for many small records, of which the reading takes longer than the writing. */
const BATCH_MS = 120;

/** So many times as much where nobody waits for the database: each commit looks at whole tables. */
const UNHURRIED = 5;

/** The database says more than the journal holds: it was made from another one. */
export class AheadOfJournal extends Error {}

/** Where a record stands: in which journal, and at which place in the order of its study's records. */
interface Standing {
  readonly journal: string;
  readonly position: number;
}

function problem(at: Standing, trial_id: string | null, text: string): Change {
  return { op: "add", table: "problems", row: { ...at, trial_id, problem: text } };
}

async function changesOf(record: JournalRecord, at: Standing, root: string): Promise<Change[]> {
  const changes = recordChanges(record, at.position);
  if (record.type === "scored") {
    const { changes: rows, problems } = await scoredFiles(root, record, at.position);
    const told = problems.map((one) => problem(at, record.trial_id, one));
    return [...changes, ...rows, ...told];
  }
  if (record.type === "scored_again") {
    const { changes: rows, problems } = await scoredAgainSamples(root, record);
    const told = problems.map(({ trial_id, problem: one }) => problem(at, trial_id, one));
    return [...changes, ...rows, ...told];
  }
  if (record.type !== "samples_written" || record.action_index !== undefined) return changes;
  const read = await sampleChanges(root, record);
  return "changes" in read
    ? [...changes, ...read.changes]
    : [...changes, problem(at, record.trial_id, read.problem)];
}

async function takeEntry(
  batch: Batch,
  entry: Entry,
  { name, path, base }: ShelfJournal,
  root: string,
): Promise<void> {
  if (entry.kind === "newer") {
    throw new UsageError(
      `Cannot read ${path} further as a newer pare wrote it (record version ${entry.version}); update pare`,
    );
  }
  const at = { journal: name, position: base + entry.offset };
  if (entry.kind === "damaged") {
    const text = `journal record is damaged: ${entry.reason}`;
    return batch.take(problem(at, entry.trial_id, text));
  }
  const { record } = entry;
  batch.take(eventChange(record, at));
  if (record.type === "points") return batch.takePoints(record, at.position);
  for (const change of await changesOf(record, at, root)) batch.take(change);
}

async function commit(
  connection: DuckDBConnection,
  batch: Batch,
  reached: ReadonlyMap<ShelfJournal, number>,
): Promise<void> {
  await connection.run("BEGIN");
  try {
    await batch.write(connection);
    await writePlaces(connection, reached);
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
    throw error;
  }
}

/** How long a catching up may take, and who is told of each commit: how many bytes the index has. */
export interface CatchUpLimits {
  /** How much of its own journals the process that asks has written, by their names. */
  readonly own?: Ends;
  readonly budget_ms: number;
  readonly onCommit: (reached: number) => void;
}

/** What of a shelf is to be taken over: all that is written, or so much of each journal that is named. */
export type Wanted = "all" | Ends;

/** The journals that are to be read on, each with where to and from. */
function wantedOf(
  journals: readonly ShelfJournal[],
  places: Places,
  wanted: Wanted,
): { journal: ShelfJournal; from: number; to: number }[] {
  return journals.flatMap((journal) => {
    const from = places.get(journal.name)?.offset ?? 0;
    const to = wanted === "all" ? endOf(journal) : wanted[journal.name] ?? 0;
    return from < to ? [{ journal, from, to }] : [];
  });
}

/** Rows that wait for the next commit, and how far each journal is read with them. */
class Gathered {
  batch: Batch = makeBatch();
  readonly reached = new Map<ShelfJournal, number>();
  #since = performance.now();

  constructor(private readonly times: number) {}

  get full(): boolean {
    const { size, points } = this.batch;
    return size >= this.times * BATCH_ROWS || points >= BATCH_POINTS ||
      performance.now() - this.#since > this.times * BATCH_MS;
  }

  /** Writes them with the places, in one transaction. */
  async commit(connection: DuckDBConnection): Promise<void> {
    if (this.reached.size > 0) await commit(connection, this.batch, this.reached);
    this.batch = makeBatch();
    this.reached.clear();
    this.#since = performance.now();
  }
}

/** Refuses where a journal was lost under its writer, who says so: the index is the better of the two now. */
function requireOwn(journals: readonly ShelfJournal[], own: Ends): void {
  const sizes = new Map(journals.map(({ name, bytes }) => [name, bytes]));
  for (const [name, end] of Object.entries(own)) {
    const bytes = sizes.get(name) ?? 0;
    if (bytes >= end) continue;
    throw new UsageError(
      `Cannot read ${name} to ${end} as it has ${bytes} bytes: it was cut or removed`,
    );
  }
}

/**
 * Takes over what is wanted of the journals on a store's shelf. Rows and places change in one
 * transaction, so that being killed at any moment doubles and loses nothing. After `budget_ms` it stops
 * behind the next commit: others want the database, too.
 */
export async function catchUp(
  connection: DuckDBConnection,
  paths: StorePaths,
  wanted: Wanted,
  { budget_ms, onCommit, own = {} }: CatchUpLimits,
): Promise<Coverage> {
  const started = performance.now();
  const journals = shelfJournals(paths);
  requireOwn(journals, own);
  const before = await indexPlaces(connection);
  const foreign = await foreignPlace(journals, before);
  if (foreign !== null) throw new AheadOfJournal(foreign);
  const gathered = new Gathered(budget_ms === Infinity ? UNHURRIED : 1);
  let taken = coverage(journals, before).database_bytes;
  reading: for (const { journal, from, to } of wantedOf(journals, before, wanted)) {
    let at = from;
    for await (const entry of readJournal(journal.path, { from, to })) {
      await takeEntry(gathered.batch, entry, journal, paths.root);
      gathered.reached.set(journal, entry.next);
      taken += entry.next - at;
      at = entry.next;
      if (!gathered.full) continue;
      await gathered.commit(connection);
      onCommit(taken);
      if (performance.now() - started > budget_ms) break reading;
    }
  }
  await gathered.commit(connection);
  await takeQueue(connection, paths);
  await takeCalls(connection, paths);
  return coverage(journals, await indexPlaces(connection));
}
