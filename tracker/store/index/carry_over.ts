import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { exists } from "../../ground/storage/set_aside.ts";
import { shelfJournals } from "../shelf/shelf.ts";
import { OLD_JOURNAL, type StorePaths } from "../store_paths.ts";
import { anyIndexPlaces, type Ends } from "./places.ts";
import { openPatiently } from "./open_database.ts";

/** A record that its journal does not say whole any more, and an index still held. */
export interface Recovered {
  readonly journal: string;
  readonly position: number;
  readonly type: string;
  readonly study_id: string;
  readonly trial_id: string | null;
  readonly reason: string;
  /** An earlier rebuilding has carried it over already. */
  readonly carried: boolean;
}

/** How far an index is that can be read, and is of the journals on the shelf; null: there is none. */
export async function readablePlaces(paths: StorePaths): Promise<Ends | null> {
  if (!exists(paths.database)) return null;
  const opened = await openPatiently(paths.database, { readOnly: true, patience_ms: 2_000 });
  if ("obstacle" in opened) return null;
  try {
    const places = await anyIndexPlaces(opened.connection);
    const read = [...places].filter(([_, { offset }]) => offset > 0);
    const sizes = new Map(shelfJournals(paths).map(({ name, bytes }) => [name, bytes]));
    const there = read.every(([name, { offset }]) => offset <= (sizes.get(name) ?? 0));
    if (read.length === 0 || !there) return null;
    return Object.fromEntries(read.map(([name, { offset }]) => [name, offset]));
  } catch {
    return null;
  } finally {
    opened.close();
  }
}

/** Columns of the tables that both indexes have, by table. */
type Shared = Map<string, string[]>;

async function sharedTables(connection: DuckDBConnection): Promise<Shared> {
  const found = await connection.runAndReadAll(`
    SELECT a.table_name, a.column_name FROM duckdb_columns() a
    JOIN duckdb_columns() b ON a.table_name = b.table_name AND a.column_name = b.column_name
    JOIN duckdb_tables() t ON t.database_name = a.database_name AND t.table_name = a.table_name
    WHERE a.database_name = current_database() AND b.database_name = 'old'
    ORDER BY a.table_name, a.column_index`);
  const tables: Shared = new Map();
  for (const [table, column] of found.getRows()) {
    const columns = tables.get(String(table)) ?? [];
    tables.set(String(table), [...columns, String(column)]);
  }
  return tables;
}

/** What the old index read whole and the journals do not say any more. */
async function lostRecords(connection: DuckDBConnection, tables: Shared): Promise<Recovered[]> {
  // An index of schema 65 and before has read one journal, and says of nothing in which it stands.
  const named = (table: string) => tables.get(table)?.includes("journal") ?? false;
  const journal = (table: string) => named(table) ? "journal" : `'${OLD_JOURNAL}'`;
  const before = tables.has("recovered")
    ? `SELECT ${journal("recovered")}, position FROM old.recovered`
    : "SELECT '', -1";
  const found = await connection.runAndReadAll(`
    WITH events AS (
      SELECT ${journal("events")} AS journal, position, type, study_id, trial_id FROM old.events
    )
    SELECT p.journal, p.position, e.type, e.study_id, e.trial_id, any_value(p.problem),
      (p.journal, p.position) IN (${before}) AS carried FROM problems p
    JOIN events e ON e.journal = p.journal AND e.position = p.position
    WHERE (p.journal, p.position) NOT IN (SELECT ${journal("problems")}, position FROM old.problems)
      OR (p.journal, p.position) IN (${before})
    GROUP BY ALL ORDER BY p.journal, p.position`);
  return found.getRows().map(([journal, position, type, study_id, trial_id, reason, carried]) => ({
    journal: String(journal),
    position: Number(position),
    type: String(type),
    study_id: String(study_id),
    trial_id: trial_id === null ? null : String(trial_id),
    reason: String(reason),
    carried: carried === true,
  }));
}

/** What is reckoned over a whole study: of a study that something is carried over of, all of it. */
const OF_STUDY = ["front_points", "compared_trials", "trial_summaries", "trial_figures"];
/** Rows of an episode, which have its number and, but for the first, no trial. */
const OF_EPISODE = [
  "episodes",
  "episode_front",
  "episode_probabilities",
  "episode_neighbours",
  "episode_groups",
  "episode_rewards",
  "beliefs",
  "refused",
];
/** What is said of an artifact, which is one for all trials that use it: the last record counts. */
const OF_ARTIFACT = ["artifacts", "artifact_files", "layer_sensitivities"];
/** What says something of the index itself. */
const OWN = [
  ...["problems", "recovered", "journals", "schema_migrations", "metric_series", "queue_jobs"],
];

type Values = readonly (string | number | null)[];

/** Puts the old index's rows in the place of the new one's, where a condition over both holds. */
async function takeRows(
  connection: DuckDBConnection,
  [table, columns]: readonly [string, readonly string[]],
  where: string,
  values: Values,
): Promise<void> {
  const names = columns.map((name) => `"${name}"`).join(", ");
  await connection.run(`DELETE FROM "${table}" WHERE ${where}`, [...values]);
  await connection.run(
    `INSERT INTO "${table}" (${names}) SELECT ${names} FROM old."${table}" WHERE ${where}`,
    [...values],
  );
}

async function takeTrial(
  connection: DuckDBConnection,
  tables: Shared,
  { study_id, trial_id }: Recovered,
): Promise<void> {
  const where = "study_id = ? AND trial_id IS NOT DISTINCT FROM ?";
  const own = [study_id, trial_id];
  for (const table of tables) {
    const [name, columns] = table;
    const others = [...OWN, ...OF_STUDY, ...OF_ARTIFACT];
    if (others.includes(name) || !columns.includes("study_id")) continue;
    if (columns.includes("trial_id")) await takeRows(connection, table, where, own);
    else if (trial_id === null) await takeRows(connection, table, "study_id = ?", [study_id]);
  }
  const series = (database: string) =>
    `SELECT series_id FROM ${database}metric_series WHERE ${where}`;
  await connection.run(`DELETE FROM metric_values WHERE series_id IN (${series("")})`, own);
  await connection.run(
    `INSERT INTO metric_values SELECT * FROM old.metric_values
     WHERE series_id IN (${series("old.")})`,
    own,
  );
  await takeRows(connection, ["metric_series", tables.get("metric_series")!], where, own);
  // The last record of an artifact may be the one that is lost.
  const used = `artifact_id IN (SELECT artifact_id FROM old.trial_artifacts WHERE ${where})`;
  for (const name of OF_ARTIFACT) {
    await takeRows(connection, [name, tables.get(name)!], used, own);
  }
}

async function takeEpisode(
  connection: DuckDBConnection,
  tables: Shared,
  { study_id, position }: Recovered,
): Promise<void> {
  const where =
    "study_id = ? AND number IN (SELECT number FROM old.episodes WHERE study_id = ? AND position = ?)";
  for (const table of tables) {
    if (!OF_EPISODE.includes(table[0])) continue;
    await takeRows(connection, table, where, [study_id, study_id, position]);
  }
}

/** What a study's front is of: reckoned over its trials, and said in the study's own row. */
async function takeFront(
  connection: DuckDBConnection,
  tables: Shared,
  study_id: string,
): Promise<void> {
  if (!tables.get("studies")?.includes("front_objectives")) return;
  await connection.run(
    `UPDATE studies SET front_objectives = o.front_objectives, front_note = o.front_note
     FROM old.studies o WHERE o.study_id = studies.study_id AND studies.study_id = ?`,
    [study_id],
  );
}

async function take(connection: DuckDBConnection): Promise<Recovered[]> {
  const tables = await sharedTables(connection);
  const lost = await lostRecords(connection, tables);
  await connection.run("BEGIN");
  for (const record of lost) {
    await takeTrial(connection, tables, record);
    if (record.type === "episode_closed") await takeEpisode(connection, tables, record);
    for (const table of tables) {
      if (!OF_STUDY.includes(table[0])) continue;
      await takeRows(connection, table, "study_id = ?", [record.study_id]);
    }
    await takeFront(connection, tables, record.study_id);
    const { journal, position, type, study_id, trial_id, reason } = record;
    await connection.run("INSERT INTO recovered VALUES (?, ?, ?, ?, ?, ?)", [
      ...[journal, position, type, study_id, trial_id, reason],
    ]);
  }
  await connection.run("COMMIT");
  return lost;
}

/**
 * Carries over into an index made from the journal what an older one, which has read as far, still
 * holds of records that are damaged since. Rows of their trials are the old index's then.
 */
export async function carryOver(fresh: string, old: string): Promise<Recovered[]> {
  const instance = await DuckDBInstance.create(fresh, {
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    threads: "2",
    memory_limit: "2GB",
  });
  try {
    const connection = await instance.connect();
    try {
      const damaged = await connection.runAndReadAll("SELECT count(*) FROM problems");
      if (Number(damaged.getRows()[0]?.[0]) === 0) return [];
      await connection.run(`ATTACH '${old.replaceAll("'", "''")}' AS old (READ_ONLY)`);
      const taken = await take(connection);
      await connection.run("DETACH old");
      return taken;
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}
