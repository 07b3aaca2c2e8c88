import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../../core/mod.ts";
import type { RunKey } from "./gather.ts";

export interface SeriesKey extends RunKey {
  readonly metric: string;
}

export interface SeriesOptions {
  /** Points given at most. */
  points?: number;
}

export interface SeriesPoint {
  step: number;
  value: number;
  happened_at: Date;
}

/** A metric over its steps. */
export interface Series {
  /** Points that were logged. */
  count: number;
  /** How many of them are NaN. */
  nan_count: number;
  /** In the order of their steps: all of them, or those that a plot needs. */
  points: SeriesPoint[];
  /** Why the last points are missing; null: none is. */
  stale: string | null;
}

const FEWEST = 10;
const MOST = 100_000;

type Bounds = { series_id: bigint; count: number; nan_count: number; first: bigint; last: bigint };

async function boundsOf(connection: DuckDBConnection, key: SeriesKey): Promise<Bounds | null> {
  const { study_id, trial_id, action_index, metric } = key;
  const named = await connection.runAndReadAll(
    `SELECT series_id FROM metric_series
     WHERE study_id = ? AND trial_id = ? AND action_index IS NOT DISTINCT FROM ?::INTEGER AND metric = ?`,
    [study_id, trial_id, action_index ?? null, metric],
  );
  const series_id = named.getRows()[0]?.[0] as bigint | undefined; // BIGINT
  if (series_id === undefined) return null;
  const found = await connection.runAndReadAll(
    `SELECT count(*), count(*) FILTER (isnan(value)), min(step), max(step)
     FROM metric_values WHERE series_id = ${series_id}`,
  );
  const [count, nan_count, first, last] = found.getRows()[0] as bigint[]; // counts and BIGINTs
  return {
    series_id,
    count: Number(count),
    nan_count: Number(nan_count),
    first: first!,
    last: last!,
  };
}

const POINT = "{row: v.rowid, step: step, value: value, happened_at: epoch_ms(happened_at)}";

/**
 * The first and last point and, of every equal span of steps, the lowest and the highest (NaN, where
 * there is one: it counts as above all), so that a plot shows every peak and gap. One pass, in plain
 * 64-bit integers: wider ones take ten times as long.
 */
function thinned({ series_id, first, last }: Bounds, points: number): string {
  const spans = BigInt(Math.floor((points - 2) / 2));
  const width = (last - first) / spans + 1n;
  return `
    SELECT unnest([arg_min(${POINT}, value), arg_max(${POINT}, value)]) AS point
    FROM metric_values v WHERE series_id = ${series_id}
    GROUP BY (step - (${first})) // ${width}
    UNION ALL
    SELECT unnest([arg_min(${POINT}, step), arg_max(${POINT}, step)])
    FROM metric_values v WHERE series_id = ${series_id} AND step IN (${first}, ${last})`;
}

/** Reads one series from the open database; an unknown one has no points. */
export async function readSeries(
  connection: DuckDBConnection,
  key: SeriesKey,
  points: number,
): Promise<Omit<Series, "stale">> {
  const bounds = await boundsOf(connection, key);
  if (bounds === null) return { count: 0, nan_count: 0, points: [] };
  const { series_id, count, nan_count } = bounds;
  const kept = count > points
    ? thinned(bounds, points)
    : `SELECT ${POINT} AS point FROM metric_values v WHERE series_id = ${series_id}`;
  const found = await connection.runAndReadAll(
    `SELECT DISTINCT point.step AS step, point.value, point.happened_at, point.row AS row
     FROM (${kept}) ORDER BY step, row`,
  );
  return {
    count,
    nan_count,
    points: found.getRows().map(([step, value, happened_at]) => ({
      step: Number(step),
      value: Number(value),
      happened_at: new Date(Number(happened_at)),
    })),
  };
}

/** Refuses a number of points that is no plot. */
export function checkPoints(metric: string, points: number): void {
  if (Number.isInteger(points) && points >= FEWEST && points <= MOST) return;
  throw new UsageError(
    `Cannot thin ${metric} to ${points} points: give a whole number from ${FEWEST} to ${MOST}`,
  );
}
