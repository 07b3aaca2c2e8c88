/**
 * What a value becomes: for a program (times are dates), for a cell of text (all but numbers as DuckDB
 * writes it), or for JSON (nested as it is, its leaves as DuckDB writes them).
 */
export type ValueForm = "program" | "text" | "json";

/**
 * A value of a row: numbers are numbers, also NaN; those with more digits than a double holds are
 * texts; moments and days are dates where a Date holds them; all else is as DuckDB writes it.
 */
export type Value =
  | string
  | number
  | boolean
  | null
  | Date
  | readonly Value[]
  | { readonly [key: string]: Value };

export interface QueryColumn {
  name: string;
  /** DuckDB's type, such as DOUBLE or VARCHAR[]. */
  type: string;
}

/** Rows as plain objects by column, in the order asked for. */
export interface QueryResult {
  columns: QueryColumn[];
  rows: Record<string, Value>[];
  /** True where the row cap cut the answer. */
  capped: boolean;
  /** Why the answer lacks what was recorded last; null: it lacks nothing that is in the index. */
  stale: string | null;
  /** What the journal ends with that is no record; null or absent: nothing. */
  torn?: string | null;
}

export type QueryParams =
  | readonly (string | number | boolean | null)[]
  | Readonly<
    Record<string, string | number | boolean | null>
  >;

/** What a query may take. */
export interface QueryLimits {
  params?: QueryParams;
  /** Rows given at most; the result says when it was cut. */
  maxRows?: number;
  timeoutMs?: number;
  /** What becomes of values that are no numbers; default: "program". */
  form?: ValueForm;
}
