import { type DuckDBConnection, LIST, listValue, VARCHAR } from "@duckdb/node-api";

/** Forgotten keys of one table that are named by the same columns. */
export interface Forgotten {
  table: string;
  columns: string[];
  /** Key as text: the key, of which some may be NULL, and how many changes there were when it was forgotten last. */
  keys: Map<string, { key: (string | null)[]; at: number }>;
}

/** Says whether the database may have rows of a trial, or of an imported run. */
export type Seen = (column: string, value: string) => boolean;

/** By the column of a key: the table that has a row of it where any table has one. */
const WITNESSES: Readonly<Record<string, string>> = {
  trial_id: "events",
  source_id: "imported_runs",
};

/**
 * Which of the keys that are to be forgotten the database has met: one look for all tables, as most
 * trials are new and a look at each of twenty tables takes longer than writing them.
 */
export async function seenBefore(
  connection: DuckDBConnection,
  forgotten: Iterable<Forgotten>,
): Promise<Seen> {
  const asked = new Map(Object.keys(WITNESSES).map((column) => [column, new Set<string>()]));
  for (const { columns, keys } of forgotten) {
    columns.forEach((column, i) => {
      const values = asked.get(column);
      if (values !== undefined) { for (const { key } of keys.values()) values.add(key[i]!); } // a witness is never NULL
    });
  }
  const seen = new Map<string, Set<unknown>>();
  for (const [column, values] of asked) {
    if (values.size === 0) continue;
    const found = await connection.runAndReadAll(
      `SELECT DISTINCT ${column} FROM ${WITNESSES[column]}
       WHERE ${column} IN (SELECT unnest($values))`,
      { values: listValue([...values]) },
      { values: LIST(VARCHAR) },
    );
    seen.set(column, new Set(found.getRows().map(([value]) => value)));
  }
  return (column, value) => seen.get(column)?.has(value) ?? true;
}

/** No part of the key is NULL, which no list of values finds. */
function isWhole(key: readonly (string | null)[]): key is string[] {
  return key.every((one) => one !== null);
}

/** Deletes the rows of forgotten keys that the database has met. */
export async function deleteRows(
  connection: DuckDBConnection,
  { table, columns, keys }: Forgotten,
  seen: Seen,
): Promise<void> {
  const tuple = `(${columns.map(() => "?").join(", ")})`;
  const known = [...keys.values()].map(({ key }) => key)
    .filter((key) => columns.every((column, i) => key[i] === null || seen(column, key[i]!)));
  const [all, partly] = [known.filter(isWhole), known.filter((key) => !isWhole(key))];
  for (const key of partly) {
    const where = columns.map((column, i) => `${column} ${key[i] === null ? "IS NULL" : "= ?"}`);
    await connection.run(
      `DELETE FROM "${table}" WHERE ${where.join(" AND ")}`,
      key.filter((one) => one !== null),
    );
  }
  for (let from = 0; from < all.length; from += 500) {
    const some = all.slice(from, from + 500);
    const sql = `DELETE FROM "${table}" WHERE (${columns.join(", ")}) IN (VALUES ${
      some.map(() => tuple).join(", ")
    })`;
    await connection.run(sql, some.flat());
  }
}
