import type { DuckDBConnection } from "@duckdb/node-api";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { findSchema } from "./index/schema.ts";
import { openingHere, reading } from "./query/reading_tasks.ts";
import { indexPlaces } from "./index/places.ts";
import type { StorePaths } from "./store_paths.ts";

/** A table or view as it was written. */
export interface ExportedTable {
  name: string;
  kind: "table" | "view";
  rows: number;
  /** The column whose values are folders; null: one file. */
  partitioned_by: string | null;
  /** Its files, relative to the export; with a pattern where there are several. */
  path: string;
  comment: string | null;
  columns: { name: string; type: string; comment: string | null }[];
}

/** What an export holds and of when. */
export interface ExportedTables {
  schema_version: number;
  /** By the journal's path below the store: how much of it the tables hold, in bytes. */
  journals: Record<string, number>;
  tables: ExportedTable[];
  /** Why what was recorded last is not in it; null: it is. */
  stale: string | null;
}

const PARTITION = "study_id";

interface Described {
  name: string;
  kind: "table" | "view";
  comment: string | null;
  columns: ExportedTable["columns"];
}

async function describe(connection: DuckDBConnection): Promise<Described[]> {
  const tables = await connection.runAndReadAll(
    `SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() WHERE NOT internal
     UNION ALL SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal
     ORDER BY kind, name`,
  );
  const columns = await connection.runAndReadAll(
    `SELECT table_name, column_name, data_type, comment FROM duckdb_columns()
     WHERE NOT internal ORDER BY table_name, column_index`,
  );
  const text = (value: unknown) => value === null ? null : String(value);
  const all = columns.getRows();
  return tables.getRows().map(([name, kind, comment]) => ({
    name: String(name),
    kind: kind === "view" ? "view" : "table",
    comment: text(comment),
    columns: all.filter(([table]) => table === name).map(([, column, type, said]) => ({
      name: String(column),
      type: String(type),
      comment: text(said),
    })),
  }));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

async function writeTable(
  connection: DuckDBConnection,
  directory: string,
  { name, kind, columns, comment }: Described,
): Promise<ExportedTable> {
  const counted = await connection.runAndReadAll(`SELECT count(*) FROM "${name}"`);
  const rows = Number(counted.getRows()[0]?.[0]);
  const split = kind === "table" && columns.some((column) => column.name === PARTITION);
  const place = `${kind}s/${name}`;
  // A table without rows has no study to name a folder: its one file shows the columns.
  const folders = split && rows > 0;
  const file = split ? `${place}/data_0.parquet` : `${place}.parquet`;
  const target = join(directory, folders ? place : file);
  mkdirSync(folders ? target : dirname(target), { recursive: true });
  await connection.run(
    `COPY (FROM "${name}") TO ${quoted(target)} (FORMAT parquet, COMPRESSION zstd${
      folders ? `, PARTITION_BY (${PARTITION}), OVERWRITE_OR_IGNORE` : ""
    })`,
  );
  return {
    name,
    kind,
    rows,
    partitioned_by: split ? PARTITION : null,
    path: split ? `${place}/**/*.parquet` : file,
    comment,
    columns,
  };
}

/**
 * Writes every table and view of the database as Parquet below `directory`, all of one moment. The
 * database is open for reading meanwhile: others read too, the index waits, recording does not.
 */
export function exportTables(
  paths: StorePaths,
  directory: string,
  patience_ms: number,
): Promise<ExportedTables> {
  return reading(paths, patience_ms, openingHere(directory), async ({ reader, stale }) => {
    const { connection } = reader;
    const tables: ExportedTable[] = [];
    for (const one of await describe(connection)) {
      tables.push(await writeTable(connection, directory, one));
    }
    return {
      schema_version: (await findSchema(connection)).version,
      journals: Object.fromEntries(
        [...await indexPlaces(connection)].map(([name, { offset }]) => [name, offset]),
      ),
      tables,
      stale,
    };
  });
}

/** What one Parquet file holds: a statement of pare's own. */
export interface ExportedSelect {
  /** Of the file, without its ending. */
  readonly name: string;
  readonly sql: string;
  /** Written without rows, too; default: then there is no file. */
  readonly empty?: boolean;
}

/** Writes each select that has rows as a Parquet file of its own below `directory`, all of one moment. */
export function exportSelects(
  paths: StorePaths,
  directory: string,
  selects: readonly ExportedSelect[],
  patience_ms: number,
): Promise<null> {
  return reading(paths, patience_ms, openingHere(directory), async ({ reader: { connection } }) => {
    for (const { name, sql, empty = false } of selects) {
      const any = await connection.runAndReadAll(`SELECT 1 FROM (${sql}) LIMIT 1`);
      if (any.currentRowCount === 0 && !empty) continue;
      const target = quoted(join(directory, `${name}.parquet`));
      await connection.run(`COPY (${sql}) TO ${target} (FORMAT parquet, COMPRESSION zstd)`);
    }
    return null;
  });
}
