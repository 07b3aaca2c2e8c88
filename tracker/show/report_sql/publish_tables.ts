import { mkdirSync } from "node:fs";
import type { Registry } from "../../../core/mod.ts";
import type { RecordedStudy } from "../../lab/recorded_trial.ts";
import type { ExportedSelect } from "../../store/export_tables.ts";
import type { Store } from "../../store/store.ts";
import { IN_ADDRESS, PATH, type Private, TOKEN, wholeWord } from "./withheld.ts";

/** A column as the database describes it. */
interface Column {
  readonly name: string;
  readonly type: string;
}

/** Tables that hold nothing but places on this machine. */
const LOCAL: ReadonlySet<string> = new Set(["logs", "sample_files"]);
/** What a benchmark or a model said: the benchmark's licence decides. */
const SAID = /(^|_)(answer|gold|reply|why|prompt|doc|generated_text)(_[ab])?$/;

const COLUMNS = `
  SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal
  ORDER BY table_name, column_index`;

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

function cleaned(column: string, { words }: Private): string {
  const named = words.reduce(
    (left, { word, instead, whole }) =>
      whole
        ? `regexp_replace(${left}, ${text(wholeWord(word))}, ${text(instead)}, 'g')`
        : `replace(${left}, ${text(word)}, ${text(instead)})`,
    column,
  );
  const bare = `regexp_replace(${named}, ${text(IN_ADDRESS)}, '\\1', 'g')`;
  const safe = `regexp_replace(${bare}, ${text(TOKEN)}, '(secret)', 'g')`;
  return `regexp_replace(${safe}, ${text(PATH)}, '\\1…/\\2', 'g')`;
}

/** A column without what is private; null: its type may hold texts that cannot be looked through. */
function selected(
  { name, type }: Column,
  hidden: Private,
  { byTask, tasks }: { readonly byTask: boolean; readonly tasks: readonly string[] },
): string | null {
  const column = quoted(name);
  if (type === "VARCHAR" && SAID.test(name)) {
    const open = byTask && tasks.length > 0
      ? `CASE WHEN task IN (${tasks.map(text).join(", ")}) THEN ${cleaned(column, hidden)} END`
      : "NULL::VARCHAR";
    return `${open} AS ${column}`;
  }
  if (type === "VARCHAR") return `${cleaned(column, hidden)} AS ${column}`;
  if (type === "VARCHAR[]") {
    return `list_transform(${column}, lambda x: ${cleaned("x", hidden)}) AS ${column}`;
  }
  return /VARCHAR|JSON|BLOB/.test(type) ? null : column;
}

/** The tasks that a study asked: those whose licence lets their texts be passed on, and the others. */
export function openTasks(
  { trials }: RecordedStudy,
  registry: Registry,
): { open: string[]; closed: string[] } {
  const tasks = new Set(trials.flatMap(({ answers }) => answers.map(({ task }) => task)));
  const licence = (task: string) => registry.tasks.find(({ name }) => name === task)?.licence;
  const { open = [], closed = [] } = Object.groupBy(
    tasks,
    (task) => licence(task) === undefined ? "closed" : "open",
  );
  return { open, closed };
}

/**
 * Writes a study's rows of every table and view as Parquet, a file each; `tasks` are those whose
 * texts may be passed on, `empty`: a table without rows has a file, too. Gives what was left out, a
 * sentence each.
 */
export async function publishTables(
  store: Store,
  study_id: string,
  folder: string,
  { hidden, tasks, empty = false }: {
    readonly hidden: Private;
    readonly tasks: readonly string[];
    readonly empty?: boolean;
  },
): Promise<string[]> {
  mkdirSync(folder, { recursive: true });
  const rows = await store.ask(COLUMNS);
  const tables = Map.groupBy(rows, ({ table_name }) => String(table_name));
  const left: string[] = [];
  const selects: ExportedSelect[] = [];
  for (const [table, described] of tables) {
    const columns = described.map((row): Column => ({
      name: String(row["column_name"]),
      type: String(row["data_type"]),
    }));
    const has = (name: string) => columns.some((column) => column.name === name);
    if (!has("study_id")) continue; // of the store, not of a study
    if (LOCAL.has(table)) {
      left.push(`table ${table}: it names files of the machine`);
      continue;
    }
    const parts = columns.map((column) => {
      const part = selected(column, hidden, { byTask: has("task"), tasks });
      if (part === null) left.push(`column ${table}.${column.name}: it is not looked through`);
      return part;
    }).filter((part) => part !== null);
    const where = `WHERE study_id = ${text(study_id)}`;
    const sql = `SELECT ${parts.join(", ")} FROM ${quoted(table)} ${where}`;
    selects.push({ name: table, sql, empty });
  }
  await store.exportSelects(folder, selects);
  return left;
}
