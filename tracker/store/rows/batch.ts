import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
  listValue,
} from "@duckdb/node-api";
import type { Points } from "../../../core/mod.ts";
import type { Cell, Change, Row } from "./change.ts";
import { makeFigureBatch } from "./derived/figure_rows.ts";
import { deleteRows, type Forgotten, seenBefore } from "./forget_rows.ts";
import { refreshFront } from "./derived/front_rows.ts";
import { makePointBatch } from "../points/write_points.ts";
import { refreshStandings } from "./derived/summary_rows.ts";

type Where = Readonly<Record<string, string | null>>;

/** Changes gathered in memory, written in few statements: a row a statement is 280 times slower. */
export interface Batch {
  /** Rows gathered so far. */
  readonly size: number;
  /** Points gathered so far. */
  readonly points: number;
  take(change: Change): void;
  takePoints(points: Points, position: number): void;
  /** Writes everything; the caller holds the transaction. */
  write(connection: DuckDBConnection): Promise<void>;
}

function matches(row: Row, where: Where): boolean {
  return Object.entries(where).every(([column, value]) => row[column] === value);
}

interface Added {
  row: Row;
  /** How many changes there were before. */
  at: number;
}

/** Rows that were not forgotten after they were added. One pass at the end: at every forget it is
 * quadratic, half a minute for a thousand trials. */
function keptRows(added: readonly Added[], forgotten: readonly Forgotten[]): Row[] {
  const kept = added.filter(({ row, at }) =>
    forgotten.every(({ columns, keys }) => {
      const last = keys.get(JSON.stringify(columns.map((name) => row[name])));
      return last === undefined || last.at < at;
    })
  );
  return kept.map(({ row }) => row);
}

/** An empty batch. What it forgets goes before what it adds, as rows added later must stay. */
export function makeBatch(): Batch {
  const added = new Map<string, Added[]>();
  const forgotten = new Map<string, Forgotten>();
  let updates: { table: string; where: Where; set: Row }[] = [];
  const fronts = new Set<string>();
  const figures = makeFigureBatch();
  const points = makePointBatch();
  let size = 0;
  let changes = 0;

  const forget = (table: string, where: Where): void => {
    if (table === "metric_points") points.forget(where);
    const columns = Object.keys(where);
    const group = `${table} ${columns.join()}`;
    const entry = forgotten.get(group) ?? { table, columns, keys: new Map() };
    const key = Object.values(where);
    entry.keys.set(JSON.stringify(key), { key, at: changes });
    forgotten.set(group, entry);
    updates = updates.filter((one) => one.table !== table || !matches(one.where, where));
  };

  const take = (change: Change): void => {
    changes++;
    if (change.op === "forget") {
      for (const table of change.tables) forget(table, change.where);
    } else if (change.op === "front") {
      fronts.add(change.study_id);
    } else if (change.op === "figures") {
      figures.take(change);
    } else if (change.op === "add") {
      size++;
      const one = { row: change.row, at: changes };
      const rows = added.get(change.table);
      if (rows === undefined) added.set(change.table, [one]);
      else rows.push(one);
    } else {
      const rows = added.get(change.table) ?? [];
      const pending = rows.filter(({ row }) => matches(row, change.where));
      for (const { row } of pending) Object.assign(row, change.set);
      if (pending.length === 0) updates.push(change);
    }
  };

  return {
    get size(): number {
      return size;
    },
    get points(): number {
      return points.size;
    },
    take,
    takePoints: points.take,
    async write(connection) {
      const seen = await seenBefore(connection, forgotten.values());
      for (const entry of forgotten.values()) {
        if (entry.table !== "metric_points") await deleteRows(connection, entry, seen);
      }
      for (const { table, where, set } of updates) await updateRows(connection, table, where, set);
      for (const [table, rows] of added) {
        const groups = [...forgotten.values()].filter((entry) => entry.table === table);
        await appendRows(connection, table, keptRows(rows, groups));
      }
      await figures.write(connection);
      for (const study_id of fronts) await refreshFront(connection, study_id);
      if (fronts.size > 0) await refreshStandings(connection, [...fronts]);
      await points.write(connection, (trial_id) => seen("trial_id", trial_id));
    },
  };
}

async function updateRows(
  connection: DuckDBConnection,
  table: string,
  where: Where,
  set: Row,
): Promise<void> {
  const columns = Object.keys(set);
  const sql = `UPDATE "${table}" SET ${columns.map((name) => `"${name}" = ?`).join(", ")} WHERE ${
    Object.keys(where).map((name) => `"${name}" = ?`).join(" AND ")
  }`;
  const values = [...Object.values(set).map(updateValue), ...Object.values(where)];
  await connection.run(sql, values);
}

function updateValue(cell: Cell): string | number | boolean | null | DuckDBTimestampValue {
  if (cell instanceof Date) return timestamp(cell);
  if (typeof cell === "object" && cell !== null) throw new TypeError("Cannot update a list column");
  return cell;
}

/** Microseconds since 1970, UTC. */
function timestamp(date: Date): DuckDBTimestampValue {
  return new DuckDBTimestampValue(BigInt(date.getTime()) * 1000n);
}

interface Column {
  name: string;
  type: DuckDBType;
  kind: string;
}

/** The schema is the same in every store, so that each table is asked once a process. */
const known = new Map<string, Column[]>();

async function columnsOf(connection: DuckDBConnection, table: string): Promise<Column[]> {
  const cached = known.get(table);
  if (cached !== undefined) return cached;
  const columns = await readColumns(connection, table);
  known.set(table, columns);
  return columns;
}

async function readColumns(connection: DuckDBConnection, table: string): Promise<Column[]> {
  const result = await connection.run(`SELECT * FROM "${table}" LIMIT 0`);
  const types = result.columnTypes();
  return result.columnNames().map((name, i) => ({
    name,
    type: types[i]!,
    kind: String(types[i]),
  }));
}

/** Appends one cell by its column's own call: `appendValue` makes a native object a cell, which the
 * garbage collector gives back one by one, seconds for some thousand rows. */
function appendCell(appender: DuckDBAppender, cell: Cell, { type, kind }: Column): void {
  if (cell === null) appender.appendNull();
  else if (cell instanceof Date) appender.appendTimestamp(timestamp(cell));
  else if (kind === "BIGINT") appender.appendBigInt(BigInt(cell as number | string)); // schema: int
  else if (kind === "DOUBLE") appender.appendDouble(cell as number);
  else if (kind === "VARCHAR") appender.appendVarchar(cell as string);
  else if (kind === "BOOLEAN") appender.appendBoolean(cell as boolean);
  else if (typeof cell === "object") {
    appender.appendValue(listValue([...cell] as DuckDBValue[]), type);
  } else appender.appendValue(cell, type);
}

async function appendRows(
  connection: DuckDBConnection,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = await columnsOf(connection, table);
  const appender = await connection.createAppender(table);
  try {
    for (const row of rows) {
      for (const column of columns) appendCell(appender, row[column.name] ?? null, column);
      appender.endRow();
    }
  } finally {
    appender.closeSync();
  }
}
