import { UsageError } from "../../../../core/mod.ts";

/** What a column is read as; a value that is none is null. */
export type Reader<T> = (value: unknown) => T | null;

/** A number; NaN and infinities count as not measured. */
export const numeric: Reader<number> = (value) => {
  if (value === null || value === undefined || value === "") return null;
  const read = typeof value === "number" || typeof value === "bigint" || typeof value === "string"
    ? Number(value)
    : NaN;
  return Number.isFinite(read) ? read : null;
};

/** Words; numbers and truths as they are printed. */
export const text: Reader<string> = (value) =>
  value === null || value === undefined ? null : String(value);

/** True where it says so; of a list whether anything stands in it. */
export const flag: Reader<boolean> = (value) =>
  value === null || value === undefined
    ? null
    : Array.isArray(value)
    ? value.length > 0
    : Boolean(value);

/** A time in seconds since 1970; numbers are seconds already. */
export const time: Reader<number> = (value) => {
  if (value instanceof Date) return value.getTime() / 1000;
  if (typeof value !== "string") return numeric(value);
  const read = Date.parse(value);
  return Number.isFinite(read) ? read / 1000 : null;
};

type Readers = Readonly<Record<string, Reader<unknown>>>;
type Read<R extends Readers> = { [K in keyof R]: ReturnType<R[K]> };

/** The columns that a figure takes, and the query that gives them. */
export interface Columns<R extends Readers, O extends Readers> {
  readonly figure: string;
  readonly sql: string;
  readonly required: R;
  /** May be absent: read as null. */
  readonly optional: O;
}

/** Rows with the columns of a figure; the query that gives them is named where one is missing. */
export function readRows<R extends Readers, O extends Readers>(
  rows: readonly object[],
  { figure, sql, required, optional }: Columns<R, O>,
): (Read<R> & Read<O>)[] {
  if (!Array.isArray(rows)) {
    throw new UsageError(
      `Cannot draw ${figure}: its first argument is no list of rows; ${sql} gives it`,
    );
  }
  const first = rows[0];
  if (first !== undefined) {
    const missing = Object.keys(required).filter((name) => !(name in first));
    if (missing.length > 0) {
      const has = Object.keys(first).slice(0, 8).join(", ");
      throw new UsageError(
        `Cannot draw ${figure}: its rows have no column ${
          missing.join(", ")
        } (they have ${has}); ` +
          `${sql} gives ${missing.length === 1 ? "it" : "them"}`,
      );
    }
  }
  const readers = Object.entries({ ...required, ...optional });
  return rows.map((row) => {
    const own = row as Readonly<Record<string, unknown>>;
    const read: Record<string, unknown> = {};
    for (const [name, reader] of readers) read[name] = reader(own[name]);
    return read as Read<R> & Read<O>;
  });
}

/** Names of trials as short as they are plain: `t03` where all are of one study. */
export function trialNames(ids: Iterable<string | null>): (id: string | null) => string {
  const studies = new Set([...ids].flatMap((id) => id?.includes("/") ? [id.split("/")[0]] : []));
  return (id) => id === null ? "–" : studies.size <= 1 ? id.split("/").at(-1)! : id;
}
