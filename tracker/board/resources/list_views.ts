import type { Row } from "./studies.ts";
import type { Store } from "../../store/store.ts";

const COLUMNS = `SELECT c.table_name AS name, coalesce(v.comment, t.comment) AS comment,
  v.view_name IS NOT NULL AS is_view,
  list({name: c.column_name, type: c.data_type, comment: c.comment} ORDER BY c.column_index)
    AS columns
FROM duckdb_columns() c
LEFT JOIN duckdb_views() v ON v.view_name = c.table_name AND NOT v.internal
LEFT JOIN duckdb_tables() t ON t.table_name = c.table_name AND NOT t.internal
WHERE NOT c.internal GROUP BY ALL ORDER BY is_view DESC, name`;

/** Tables and views with what their columns mean, as the schema's comments say it. */
export async function listViews(store: Store): Promise<Row[]> {
  return await store.ask(COLUMNS);
}
