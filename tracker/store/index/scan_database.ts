import { firstLine } from "./obstacle.ts";
import { openPatiently } from "./open_database.ts";

/** What of a database cannot be read when all of it is; null: it is whole, or another process's. */
export async function unreadable(database: string): Promise<string | null> {
  const opened = await openPatiently(database, { readOnly: true, patience_ms: 2_000 });
  if ("obstacle" in opened) return opened.obstacle === "held" ? null : opened.reason;
  const { connection, close } = opened;
  try {
    const tables = await connection.runAndReadAll("SELECT table_name FROM duckdb_tables()");
    for (const [name] of tables.getRows()) {
      await connection.run(`SELECT sum(hash(t)::HUGEINT) FROM "${name}" t`);
    }
    return null;
  } catch (error) {
    return firstLine(error);
  } finally {
    close();
  }
}
