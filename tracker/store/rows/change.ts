import type { Measurement } from "../../../core/mod.ts";

/** What a column may hold before it is written. */
export type Cell =
  | string
  | number
  | boolean
  | null
  | Date
  | readonly string[]
  | readonly number[]
  | readonly boolean[];
export type Row = Record<string, Cell>;

/**
 * One change of the index. `forget` removes every row of the tables that has these values;
 * `change` sets columns of the rows that have them; `figures` and `front` ask for a trial's
 * main figures (null: of every trial) and where a study's trials stand, once all else is written.
 */
export type Change =
  | { op: "add"; table: string; row: Row }
  | { op: "forget"; tables: readonly string[]; where: Readonly<Record<string, string | null>> }
  | {
    op: "change";
    table: string;
    where: Readonly<Record<string, string>>;
    set: Row;
  }
  | { op: "figures"; study_id: string; trial_id: string | null }
  | { op: "front"; study_id: string };

/** A moment as a column; NULL where the text is no date. */
export function moment(text: string | null): Date | null {
  const at = text === null ? NaN : Date.parse(text);
  return Number.isNaN(at) ? null : new Date(at);
}

/** Rows of one table, each an `add`. */
export function adds(table: string, rows: readonly Row[]): Change[] {
  return rows.map((row) => ({ op: "add", table, row }));
}

/** A measurement with every field as a column. */
export function measurementRow(
  { numerics, spread, form: _, chance, stratum_rows, busy_cores, ...fields }: Measurement,
  study_id: string,
  trial_id: string,
  position: number,
): Row {
  return {
    study_id,
    trial_id,
    position,
    ...fields,
    inference_precision: numerics?.inference_precision ?? null,
    kv_precision: numerics?.kv_precision ?? null,
    activation_group: numerics?.activation_group ?? null,
    threads: numerics?.threads ?? null,
    minimum: spread?.minimum ?? null,
    lower_quartile: spread?.lower_quartile ?? null,
    upper_quartile: spread?.upper_quartile ?? null,
    maximum: spread?.maximum ?? null,
    chance: chance ?? null,
    stratum_rows: stratum_rows ?? null,
    busy_cores: busy_cores ?? null,
  };
}
