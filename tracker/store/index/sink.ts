import type { DuckDBConnection } from "@duckdb/node-api";
import { type JournalRecord, UsageError } from "../../../core/mod.ts";
import { type Batch, makeBatch } from "../rows/batch.ts";
import type { Change } from "../rows/change.ts";
import { isPlaceOf, sinkPlace, writePlace } from "../journal/mark.ts";
import { readJournal } from "../journal/reader.ts";
import type { Entry } from "../journal/record_line.ts";
import { recordChanges } from "../rows/rows_of_record.ts";
import { eventRow } from "../rows/said_rows.ts";
import { scoredFiles } from "../rows/scored_rows.ts";
import { sampleChanges } from "../rows/sample_file.ts";
import type { StorePaths } from "../store_paths.ts";

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

/** How much of the journal the database has. */
export async function sinkOffset(connection: DuckDBConnection): Promise<number> {
  return (await sinkPlace(connection)).offset;
}

/** The size of the journal file; 0 where there is none. */
export function journalSize(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

function problem(position: number, trial_id: string | null, text: string): Change {
  return { op: "add", table: "problems", row: { position, trial_id, problem: text } };
}

async function changesOf(record: JournalRecord, position: number, root: string): Promise<Change[]> {
  const changes = recordChanges(record, position);
  if (record.type === "scored") {
    const { changes: rows, problems } = await scoredFiles(root, record, position);
    const told = problems.map((one) => problem(position, record.trial_id, one));
    return [...changes, ...rows, ...told];
  }
  if (record.type !== "samples_written" || record.stage !== undefined) return changes;
  const read = await sampleChanges(root, record);
  return "changes" in read
    ? [...changes, ...read.changes]
    : [...changes, problem(position, record.trial_id, read.problem)];
}

async function takeEntry(batch: Batch, entry: Entry, paths: StorePaths): Promise<void> {
  if (entry.kind === "newer") {
    throw new UsageError(
      `Cannot read ${paths.journal} further as a newer pare wrote it (record version ${entry.version}); update pare`,
    );
  }
  if (entry.kind === "record" && entry.record.type === "points") {
    batch.takePoints(entry.record, entry.offset);
    for (const change of eventRow(entry.record, entry.offset)) batch.take(change);
    return;
  }
  const changes = entry.kind === "damaged"
    ? [problem(entry.offset, entry.trial_id, `journal record is damaged: ${entry.reason}`)]
    : await changesOf(entry.record, entry.offset, paths.root);
  for (const change of changes) batch.take(change);
}

async function commit(
  connection: DuckDBConnection,
  batch: Batch,
  journal: string,
  offset: number,
): Promise<void> {
  await connection.run("BEGIN");
  try {
    await batch.write(connection);
    await writePlace(connection, journal, offset);
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
    throw error;
  }
}

/** How long a catching up may take, and who is told of each commit. */
export interface CatchUpLimits {
  readonly budget_ms: number;
  readonly onCommit: (reached: number) => void;
}

/**
 * Brings the database up to place `to` of the journal; gives the place reached. Rows and offset
 * change in one transaction, so that being killed at any moment doubles and loses nothing. After
 * `budget_ms` it stops behind the next commit: others want the database, too.
 */
export async function catchUp(
  connection: DuckDBConnection,
  paths: StorePaths,
  to: number,
  { budget_ms, onCommit }: CatchUpLimits,
): Promise<number> {
  const started = performance.now();
  const place = await sinkPlace(connection);
  let { offset } = place;
  const size = journalSize(paths.journal);
  if (size < to && to !== Infinity) {
    // Lost under its writer, who says so: the index is the better of the two now.
    throw new UsageError(
      `Cannot read ${paths.journal} to ${to} as it has ${size} bytes: it was cut or removed`,
    );
  }
  if (offset > size) {
    throw new AheadOfJournal(`the database has read to ${offset}, the journal ends at ${size}`);
  }
  if (!await isPlaceOf(paths.journal, place)) {
    throw new AheadOfJournal(`the journal was cut before ${offset} and written on since`);
  }
  let batch = makeBatch();
  let batch_started = started;
  let reached = offset;
  const times = budget_ms === Infinity ? UNHURRIED : 1;
  for await (const entry of readJournal(paths.journal, { from: offset, to })) {
    await takeEntry(batch, entry, paths);
    reached = entry.next;
    const full = batch.size >= times * BATCH_ROWS || batch.points >= BATCH_POINTS;
    if (full || performance.now() - batch_started > times * BATCH_MS) {
      await commit(connection, batch, paths.journal, reached);
      offset = reached;
      onCommit(reached);
      if (performance.now() - started > budget_ms) return reached;
      batch = makeBatch();
      batch_started = performance.now();
    }
  }
  if (reached > offset) await commit(connection, batch, paths.journal, reached);
  return reached;
}
