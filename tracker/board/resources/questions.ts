import { FULL } from "../../../core/mod.ts";
import type { Row } from "./studies.ts";
import type { Store } from "../../store/store.ts";

/** Questions that a page offers; $study is the study that it came from. */
export const QUESTIONS: readonly { readonly title: string; readonly sql: string }[] = [
  {
    title: "The best trials of every study",
    sql: `SELECT * FROM leaderboard WHERE fidelity = '${FULL}' ORDER BY study_id, rank LIMIT 100`,
  },
  {
    title: "What each study recommends, and why",
    sql: "SELECT trial_id, size_bytes, difference, difference_low, because FROM recommended",
  },
  {
    title: "The front, and how sure it is",
    sql:
      "SELECT trial_id, front_probability, rank, accuracy, latency_ratio, size_bytes FROM pareto\nWHERE rank = 0 ORDER BY study_id, accuracy DESC",
  },
  {
    title: "Why trials ended early",
    sql: "SELECT trial_id, stage, reason, what_to_do FROM failures LIMIT 200",
  },
  {
    title: "Which knob matters",
    sql: "SELECT * FROM knob_importance LIMIT 100",
  },
  {
    title: "How far each time is from its roofline",
    sql: "SELECT * FROM timings ORDER BY over_roofline LIMIT 100",
  },
  {
    title: "Where the time went",
    sql: "SELECT study_id, phase, sum(seconds) AS seconds FROM phases GROUP BY ALL ORDER BY ALL",
  },
  {
    title: "What it cost in time",
    sql: "SELECT * FROM cost LIMIT 100",
  },
  {
    title: "Two studies beside each other",
    sql: "SELECT * FROM study_comparison LIMIT 50",
  },
];

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
