import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../../core/errors.ts";
import { METRICS } from "../../../core/metrics/metric_table.ts";
import { firstLine } from "./obstacle.ts";
import { SCHEMA_HASH, SCHEMA_VERSION, TABLES, VIEWS } from "./schema/files.ts";

/** The schema's files in the order in which they are applied, below `schema/`. */
export const SCHEMA_FILES: readonly string[] = [
  ...TABLES.map((name) => `tables/${name}.sql`),
  ...VIEWS.map((name) => `views/${name}.sql`),
];

/** What columns of metrics mean, by name. */
const OF_METRICS: Readonly<Record<string, string>> = Object.fromEntries(
  METRICS.flatMap(({ name, column }) => column === undefined ? [] : [[name, column]]),
);

/** A file, with the metrics that are columns and that it does not name itself where it marks their place. */
function textOf(file: string): string {
  const text = readFileSync(new URL(`./schema/${file}`, import.meta.url), "utf8");
  const names = Object.keys(OF_METRICS).filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
  return text.replaceAll(
    /\/\* metrics( DOUBLE)? \*\//g,
    (_, type = "") => names.map((name) => name + type).join(", "),
  );
}

/**
 * What the columns mean: each by its name, wherever it stands, and by `relation.column` where it means
 * something else there.
 */
interface Comments {
  readonly columns: Readonly<Record<string, string>>;
  readonly own: Readonly<Record<string, string>>;
}
const COMMENTS = "comments.json";

/** Gives every column of every table and view its comment. */
async function commentColumns(connection: DuckDBConnection): Promise<void> {
  const { columns, own } = JSON.parse(textOf(COMMENTS)) as Comments; // a file of pare's own
  const found = await connection.runAndReadAll(
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal",
  );
  const statements = found.getRows().flatMap(([relation, column]) => {
    const said = own[`${relation}.${column}`] ?? columns[String(column)] ??
      OF_METRICS[String(column)];
    return said === undefined
      ? []
      : [`COMMENT ON COLUMN ${relation}."${column}" IS '${said.replaceAll("'", "''")}'`];
  });
  await connection.run(statements.join(";\n"));
}

/** Tells schemas apart: the names of the files in their order, and what is in them. */
export function schemaHash(): string {
  const hash = createHash("sha256");
  for (const file of [...SCHEMA_FILES, COMMENTS]) hash.update(`${file}\n${textOf(file)}`);
  hash.update(JSON.stringify(OF_METRICS));
  return hash.digest("hex").slice(0, 16);
}

/** Whose schema a database has. */
export interface FoundSchema {
  /** 0: it has none of ours. */
  readonly version: number;
  /** It is the one that this pare writes, to the letter. */
  readonly current: boolean;
  /** Another pare made it, no newer one: it is made anew from the journals. */
  readonly old: boolean;
  readonly newer: boolean;
  /** It has tables and none of ours: another program made it. */
  readonly foreign: boolean;
}

/**
 * The schema's row in a database; null: there is none. Versions before 30 wrote a row a migration, and
 * the last one counts.
 */
async function schemaRow(
  connection: DuckDBConnection,
): Promise<{ version: number; name: string } | null> {
  // Other programs call a table so, too; those beside it are in every index of ours.
  const found = await connection.runAndReadAll(
    "SELECT count(DISTINCT table_name) FROM duckdb_tables() " +
      "WHERE table_name IN ('schema_migrations', 'studies', 'trials')",
  );
  if (Number(found.getRows()[0]?.[0]) < 3) return null;
  const last = await connection.runAndReadAll(
    "SELECT version, name FROM schema_migrations ORDER BY version DESC LIMIT 1",
  );
  const [row] = last.getRows();
  return row === undefined ? null : { version: Number(row[0]), name: String(row[1]) };
}

async function hasTables(connection: DuckDBConnection): Promise<boolean> {
  const found = await connection.runAndReadAll("SELECT count(*) FROM duckdb_tables()");
  return Number(found.getRows()[0]?.[0]) > 0;
}

/** Whose schema a database has. */
export async function findSchema(connection: DuckDBConnection): Promise<FoundSchema> {
  const row = await schemaRow(connection);
  if (row === null) {
    const foreign = await hasTables(connection);
    return { version: 0, current: false, old: false, newer: false, foreign };
  }
  const { version, name } = row;
  const current = version === SCHEMA_VERSION && name === SCHEMA_HASH;
  const newer = version > SCHEMA_VERSION;
  return { version, current, old: !current && !newer, newer, foreign: false };
}

/** As `findSchema()`, for whoever writes: refuses the schema of a newer pare. */
export async function findSchemaToWrite(
  connection: DuckDBConnection,
  path: string,
): Promise<FoundSchema> {
  const schema = await findSchema(connection);
  if (!schema.newer) return schema;
  throw new UsageError(
    `Cannot open ${path} as a newer pare wrote it (schema ${schema.version}, this one knows ${SCHEMA_VERSION}); update pare`,
  );
}

/** Makes every table and view in an empty database: all of them, or none where one is refused. */
export async function makeSchema(
  connection: DuckDBConnection,
  files: readonly string[] = SCHEMA_FILES,
): Promise<void> {
  await connection.run("BEGIN");
  try {
    for (const file of files) {
      await connection.run(textOf(file)).catch((error) => {
        throw new Error(`${firstLine(error)} (schema/${file})`, { cause: error });
      });
    }
    await commentColumns(connection);
    await connection.run("INSERT INTO schema_migrations VALUES (?, ?)", [
      ...[SCHEMA_VERSION, SCHEMA_HASH],
    ]);
    await connection.run("COMMIT");
  } catch (error) {
    await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
    throw error;
  }
}
