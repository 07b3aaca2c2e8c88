import { DuckDBInstance } from "@duckdb/node-api";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publishTables } from "./publish_tables.ts";
import type { Private } from "./withheld.ts";
import type { Store } from "../../store/store.ts";

const COMMENTS = `
  SELECT c.table_name, c.column_name, c.comment, coalesce(v.comment, t.comment) AS of_table
  FROM duckdb_columns() c
  LEFT JOIN duckdb_views() v ON v.view_name = c.table_name AND NOT v.internal
  LEFT JOIN duckdb_tables() t ON t.table_name = c.table_name AND NOT t.internal
  WHERE NOT c.internal ORDER BY c.table_name, c.column_index`;

const text = (value: unknown) => `'${String(value).replaceAll("'", "''")}'`;
const quoted = (name: unknown) => `"${String(name).replaceAll('"', '""')}"`;

/**
 * A study's rows of every table and view as a DuckDB file with their comments: what `pare publish`
 * writes as Parquet, and the tables without rows. A file, as the engine of a browser has no reader of
 * Parquet without the network; of the oldest format, as that engine may be older than the store's.
 */
export async function studyDatabase(
  store: Store,
  study_id: string,
  publishing: { readonly hidden: Private; readonly tasks: readonly string[] },
): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "pare-sql-"));
  try {
    await publishTables(store, study_id, folder, { ...publishing, empty: true });
    const rows = await store.ask(COMMENTS);
    const file = join(folder, "study.duckdb");
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    try {
      await connection.run(`ATTACH ${text(file)} AS study (STORAGE_VERSION 'v1.0.0')`);
      await connection.run("USE study");
      for (const name of await namesIn(folder)) {
        await connection.run(
          `CREATE TABLE ${quoted(name)} AS FROM ${text(join(folder, `${name}.parquet`))}`,
        );
        await comment(connection, name, rows.filter((row) => row["table_name"] === name));
      }
      await connection.run("USE memory");
      await connection.run("DETACH study"); // writes what is in its log
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".parquet")) names.push(name.slice(0, -".parquet".length));
  }
  return names.sort();
}

type Connection = Awaited<ReturnType<DuckDBInstance["connect"]>>;

async function comment(
  connection: Connection,
  name: string,
  described: readonly Record<string, unknown>[],
): Promise<void> {
  const of = described[0]?.["of_table"];
  if (of != null) await connection.run(`COMMENT ON TABLE ${quoted(name)} IS ${text(of)}`);
  const found = await connection.runAndReadAll(
    `SELECT column_name FROM duckdb_columns() WHERE table_name = ${text(name)}`,
  );
  const columns = new Set(found.getRows().map(([column]) => String(column)));
  for (const { column_name, comment: said } of described) {
    if (said == null || !columns.has(String(column_name))) continue;
    await connection.run(
      `COMMENT ON COLUMN ${quoted(name)}.${quoted(column_name)} IS ${text(said)}`,
    );
  }
}
