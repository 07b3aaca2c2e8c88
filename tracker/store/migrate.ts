import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../core/mod.ts";

const MIGRATIONS = ["0001_initial.sql", "0002_views.sql", "0010_imported.sql"] as const;

/** Version of the schema that this pare writes: the number of its last migration. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The number of the last migration that a database has seen; 0: none. */
export async function schemaVersion(connection: DuckDBConnection): Promise<number> {
  const found = await connection.runAndReadAll(
    "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_migrations'",
  );
  if (Number(found.getRows()[0]?.[0]) === 0) return 0;
  const version = await connection.runAndReadAll(
    "SELECT coalesce(max(version), 0) FROM schema_migrations",
  );
  return Number(version.getRows()[0]?.[0]);
}

/** Brings the schema to this version, a transaction a migration; refuses a newer one. */
export async function migrate(connection: DuckDBConnection, path: string): Promise<void> {
  const version = await schemaVersion(connection);
  if (version > SCHEMA_VERSION) {
    throw new UsageError(
      `Cannot open ${path} as a newer pare wrote it (schema ${version}, this one knows ${SCHEMA_VERSION}); update pare`,
    );
  }
  for (let next = version; next < SCHEMA_VERSION; next++) {
    const name = MIGRATIONS[next]!;
    const sql = Deno.readTextFileSync(new URL(`./migrations/${name}`, import.meta.url));
    await connection.run("BEGIN");
    try {
      await connection.run(
        "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL)",
      );
      await connection.run(sql);
      await connection.run("INSERT INTO schema_migrations VALUES (?, ?)", [next + 1, name]);
      await connection.run("COMMIT");
    } catch (error) {
      await connection.run("ROLLBACK");
      throw error;
    }
  }
}
