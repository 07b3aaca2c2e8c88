import { createHash } from "node:crypto";
import {
  BIGINT,
  DOUBLE,
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBDataChunk,
  TIMESTAMP,
} from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import type { Points } from "../../../core/mod.ts";
import { decodeIntegers, decodeValues, toInt64 } from "./columns.ts";

/** Rows of a chunk, DuckDB's own. */
const CHUNK = 2048;
const CHUNK_TYPES = [BIGINT, BIGINT, BIGINT, TIMESTAMP, DOUBLE];
/** Keys a statement asks for: a list of values stays readable to the parser. */
const KEYS = 500;

type Where = Readonly<Record<string, string | null>>;

/** Points gathered for the next commit; they reach the tables in chunks, never as rows. */
export interface PointBatch {
  /** Points gathered so far. */
  readonly size: number;
  take(points: Points, position: number): void;
  /** Drops what a trial logged before; `where` names its study and trial. */
  forget(where: Where): void;
  /** @param seen whether the database may have points of a trial */
  write(connection: DuckDBConnection, seen: (trial_id: string) => boolean): Promise<void>;
}

interface Pending {
  points: Points;
  position: number;
}

function trialKey({ study_id, trial_id }: Where | Points): string {
  return JSON.stringify([study_id, trial_id]);
}

function seriesKey(
  study_id: unknown,
  trial_id: unknown,
  action_index: number | null,
  metric: unknown,
): string {
  return JSON.stringify([study_id, trial_id, action_index, metric]);
}

/** An empty batch. What it forgets goes before what it adds. */
export function makePointBatch(): PointBatch {
  let pending: Pending[] = [];
  const forgotten = new Map<string, Where>();
  let size = 0;
  return {
    get size(): number {
      return size;
    },
    take(points, position) {
      pending.push({ points, position });
      size += points.rows * points.metrics.length;
    },
    forget(where) {
      const key = trialKey(where);
      forgotten.set(key, where);
      pending = pending.filter(({ points }) => trialKey(points) !== key);
    },
    async write(connection, seen) {
      const old = [...forgotten].filter(([_, { trial_id }]) => seen(trial_id!));
      await deleteSeries(connection, old.map(([key]) => key));
      if (pending.length === 0) return;
      const series = await seriesOf(connection, pending);
      const appender = await connection.createAppender("metric_values");
      try {
        appendPoints(appender, pending, series);
      } finally {
        appender.closeSync();
      }
    },
  };
}

/** Series of these trials in the database, by study, trial and metric. */
async function knownSeries(
  connection: DuckDBConnection,
  trials: readonly string[],
): Promise<Map<string, bigint>> {
  const found = new Map<string, bigint>();
  for (let from = 0; from < trials.length; from += KEYS) {
    const some = trials.slice(from, from + KEYS);
    const sql = `SELECT study_id, trial_id, action_index, metric, series_id FROM metric_series
      WHERE (study_id, trial_id) IN (VALUES ${some.map(() => "(?, ?)").join(", ")})`;
    const keys = some.flatMap((key) => JSON.parse(key) as string[]); // made by trialKey
    const rows = (await connection.runAndReadAll(sql, keys)).getRows();
    for (const [study_id, trial_id, action_index, metric, series_id] of rows) {
      const key = seriesKey(
        study_id,
        trial_id,
        action_index === null ? null : Number(action_index),
        metric,
      );
      found.set(key, series_id as bigint); // BIGINT
    }
  }
  return found;
}

/** A trial that has no points costs no look at the table of values. */
async function deleteSeries(connection: DuckDBConnection, trials: string[]): Promise<void> {
  const series = [...(await knownSeries(connection, trials)).values()];
  for (let from = 0; from < series.length; from += KEYS) {
    const some = series.slice(from, from + KEYS).join(", ");
    await connection.run(`DELETE FROM metric_values WHERE series_id IN (${some})`);
    await connection.run(`DELETE FROM metric_series WHERE series_id IN (${some})`);
  }
}

/** A series' number comes from its name alone, so that a rebuilt database has the same: 63 bits of a hash. */
function seriesNumber(key: string): bigint {
  return createHash("sha256").update(key).digest().readBigUInt64BE() >> 1n;
}

/** The series of what is pending, with new ones for those that are not there yet. */
async function seriesOf(
  connection: DuckDBConnection,
  pending: readonly Pending[],
): Promise<Map<string, bigint>> {
  const trials = [...new Set(pending.map(({ points }) => trialKey(points)))];
  const series = await knownSeries(connection, trials);
  const appender = await connection.createAppender("metric_series");
  try {
    for (const { points: { study_id, trial_id, action_index, metrics } } of pending) {
      for (const metric of metrics) {
        const key = seriesKey(study_id, trial_id, action_index ?? null, metric);
        if (series.has(key)) continue;
        const series_id = seriesNumber(key);
        series.set(key, series_id);
        appender.appendBigInt(series_id);
        for (const text of [study_id, trial_id]) appender.appendVarchar(text);
        if (action_index === undefined) appender.appendNull();
        else appender.appendBigInt(BigInt(action_index));
        appender.appendVarchar(metric);
        appender.endRow();
      }
    }
  } finally {
    appender.closeSync();
  }
  return series;
}

/** Rows of one series in one record: the columns of the table, each of eight bytes per row. */
type Piece = readonly (BigInt64Array<ArrayBuffer> | Float64Array<ArrayBuffer>)[];

function constant(value: bigint, rows: number): BigInt64Array<ArrayBuffer> {
  return new BigInt64Array(rows).fill(value);
}

function* pieces(
  pending: readonly Pending[],
  series: ReadonlyMap<string, bigint>,
): Generator<Piece> {
  for (const { points, position } of pending) {
    const { study_id, trial_id, action_index = null, metrics, rows } = points;
    const places = constant(BigInt(position), rows);
    const step = toInt64(decodeIntegers(points.step, rows));
    const happened_at = toInt64(decodeIntegers(points.happened_at, rows), 1000); // microseconds
    const values = decodeValues(points);
    for (const [i, metric] of metrics.entries()) {
      const series_id = series.get(seriesKey(study_id, trial_id, action_index, metric))!; // made by seriesOf
      yield [constant(series_id, rows), places, step, happened_at, values[i]!];
    }
  }
}

/** Fills chunk after chunk, whatever the size of the pieces. */
function appendPoints(
  appender: DuckDBAppender,
  pending: readonly Pending[],
  series: ReadonlyMap<string, bigint>,
): void {
  let left = pending.reduce((sum, { points }) => sum + points.rows * points.metrics.length, 0);
  let size = Math.min(CHUNK, left);
  let chunk = DuckDBDataChunk.create(CHUNK_TYPES, size);
  let at = 0;
  for (const piece of pieces(pending, series)) {
    const length = piece[0]!.length;
    for (let from = 0; from < length;) {
      const rows = Math.min(size - at, length - from);
      fillRows(chunk, at, piece, from, rows);
      at += rows;
      from += rows;
      if (at < size) continue;
      appender.appendDataChunk(chunk);
      left -= size;
      if (left > 0 && left < CHUNK) chunk = DuckDBDataChunk.create(CHUNK_TYPES, left);
      size = Math.min(CHUNK, left);
      at = 0;
    }
  }
}

/** Copies columns as they lie in memory, without a call a cell. */
function fillRows(chunk: DuckDBDataChunk, at: number, piece: Piece, from: number, rows: number) {
  piece.forEach(({ buffer, byteOffset }, i) => {
    const vector = duckdb.data_chunk_get_vector(chunk.chunk, i);
    duckdb.copy_data_to_vector(vector, 8 * at, buffer, byteOffset + 8 * from, 8 * rows);
  });
}
