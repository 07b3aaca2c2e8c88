import type { DuckDBConnection } from "@duckdb/node-api";
import { UsageError } from "../../../core/errors.ts";

const MIGRATIONS = [
  "0001_initial.sql",
  "0002_views.sql",
  "0003_points.sql",
  "0004_records.sql",
  "0005_trial_figures.sql",
  "0006_trial_views.sql",
  "0007_comparison_views.sql",
  "0008_trial_comments.sql",
  "0009_comparison_comments.sql",
  "0010_imported.sql",
  "0012_journal_mark.sql",
  "0013_imported_comments.sql",
  "0014_sample_evidence.sql",
  "0015_trial_summaries.sql",
  "0016_spread_and_energy.sql",
  "0017_verdicts.sql",
  "0018_sample_pairs.sql",
  "0019_energy_reader.sql",
  "0020_compared_trials.sql",
  "0021_chance_and_strata.sql",
  "0022_retention_in_turn.sql",
  "0023_recovered.sql",
  "0024_problems_without_place.sql",
  "0025_limits_and_origins.sql",
  "0026_left_in_floats.sql",
  "0027_artifact_parameters.sql",
  "0028_task_metrics.sql",
  "0029_proposals.sql",
] as const;

function versionOf(name: string): number {
  return parseInt(name, 10);
}

/** Version of the schema that this pare writes: the number of its last migration. */
export const SCHEMA_VERSION = versionOf(MIGRATIONS.at(-1)!);

async function applied(connection: DuckDBConnection): Promise<number[]> {
  const found = await connection.runAndReadAll(
    "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'schema_migrations'",
  );
  if (Number(found.getRows()[0]?.[0]) === 0) return [];
  const versions = await connection.runAndReadAll("SELECT version FROM schema_migrations");
  return versions.getRows().map(([version]) => Number(version));
}

/** The number of the last migration that a database has seen; 0: none. */
export async function schemaVersion(connection: DuckDBConnection): Promise<number> {
  return Math.max(0, ...await applied(connection));
}

/** What a database lacks of this schema. */
export interface PendingMigrations {
  /** The number of its last migration; 0: it is new. */
  readonly version: number;
  readonly names: readonly string[];
  /** An earlier pare made it: it is copied, then made anew from the journal. */
  readonly old: boolean;
  /** It has tables and none of ours: another program made it. */
  readonly foreign: boolean;
}

async function hasTables(connection: DuckDBConnection): Promise<boolean> {
  const found = await connection.runAndReadAll("SELECT count(*) FROM duckdb_tables()");
  return Number(found.getRows()[0]?.[0]) > 0;
}

/** The migrations that a database has not seen; refuses one of a newer pare. */
export async function pendingMigrations(
  connection: DuckDBConnection,
  path: string,
): Promise<PendingMigrations> {
  const seen = await applied(connection);
  const version = Math.max(0, ...seen);
  if (version > SCHEMA_VERSION) {
    throw new UsageError(
      `Cannot open ${path} as a newer pare wrote it (schema ${version}, this one knows ${SCHEMA_VERSION}); update pare`,
    );
  }
  const names = MIGRATIONS.filter((name) => !seen.includes(versionOf(name)));
  const foreign = version === 0 && await hasTables(connection);
  return { version, names, old: version > 0 && names.length > 0, foreign };
}

/** Brings the schema to this version, a transaction a migration; refuses a newer one. */
export async function migrate(connection: DuckDBConnection, path: string): Promise<void> {
  for (const name of (await pendingMigrations(connection, path)).names) {
    const sql = Deno.readTextFileSync(new URL(`./migrations/${name}`, import.meta.url));
    await connection.run("BEGIN");
    try {
      await connection.run(
        "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT NOT NULL, name VARCHAR NOT NULL)",
      );
      await connection.run(sql);
      await connection.run("INSERT INTO schema_migrations VALUES (?, ?)", [versionOf(name), name]);
      await connection.run("COMMIT");
    } catch (error) {
      await connection.run("ROLLBACK").catch(() => {}); // a commit that failed has done so itself
      throw error;
    }
  }
}
