import type { RunImported } from "../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "./change.ts";

const TABLES = [
  "imported_runs",
  "imported_params",
  "imported_measurements",
  "imported_series",
  "imported_tags",
] as const;

/** The latest moment that a Date holds, in milliseconds. */
const MOST_MS = 8.64e15;

function momentOf(ms: number): Date | null {
  return Math.abs(ms) <= MOST_MS ? new Date(ms) : null;
}

function seriesRows({ series, ...run }: RunImported): Row[] {
  const { source, source_id, study_id, trial_id } = run;
  return series.flatMap(({ metric, steps, values, times }) =>
    steps.map((step, i) => ({
      source,
      source_id,
      study_id,
      trial_id,
      metric,
      step,
      value: values[i]!,
      happened_at: times === null ? null : momentOf(times[i]!),
    }))
  );
}

function runRow(record: RunImported, position: number): Row {
  const started_at = moment(record.started_at);
  const finished_at = moment(record.finished_at);
  const { source, source_id, study_id, trial_id } = record;
  return {
    source,
    source_id,
    study_id,
    trial_id,
    position,
    number: record.number,
    study_name: record.study_name,
    name: record.name,
    parent_id: record.parent_id,
    location: record.location,
    state: record.state,
    failure_message: record.failure_message,
    started_at,
    finished_at,
    seconds: started_at === null || finished_at === null
      ? null
      : (finished_at.getTime() - started_at.getTime()) / 1000,
    imported_at: moment(record.at),
    content_hash: record.content_hash,
  };
}

/** A run of another tracker: its rows replace those of an earlier import of the same run. */
export function importedRows(record: RunImported, position: number): Change[] {
  const { source, source_id, study_id, trial_id, content_hash } = record;
  const series = adds("imported_series", seriesRows(record));
  if (record.part > 0) {
    const where = { source, source_id };
    return [...series, { op: "change", table: "imported_runs", where, set: { content_hash } }];
  }
  const key = { source, source_id, study_id, trial_id };
  return [
    { op: "forget", tables: TABLES, where: { source, source_id } },
    ...adds("imported_runs", [runRow(record, position)]),
    ...adds(
      "imported_params",
      record.params.map(({ param, value, distribution }) => ({
        ...key,
        param,
        value: value === null ? null : String(value),
        number: value === null || typeof value === "string" ? null : Number(value),
        distribution,
      })),
    ),
    ...adds("imported_measurements", record.measurements.map((one) => ({ ...key, ...one }))),
    ...adds(
      "imported_tags",
      Object.entries(record.tags).map(([tag, value]) => ({ ...key, tag, value })),
    ),
    ...series,
  ];
}
