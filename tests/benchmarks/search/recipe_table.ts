/** The table of recorded recipes as a file: rows are added one by one, and any end of it may be the last. */
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { pointKey, type SpacePoint } from "../../../core/mod.ts";
import { RecordedTable } from "./problems/recorded_problem.ts";

type Row = RecordedTable["rows"][number];
export type TableHead = Omit<RecordedTable, "rows">;

/** One line a row: a change of one row is a change of one line. */
export function tableText({ rows, ...head }: RecordedTable): string {
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  return `${JSON.stringify(head, null, 1).slice(0, -2)},\n "rows": [\n${lines}\n ]\n}\n`;
}

function shape({ name, dimensions, objectives }: TableHead): string {
  return JSON.stringify([name, RecordedTable.shape.dimensions.parse(dimensions), objectives]);
}

async function readTable(path: string): Promise<RecordedTable> {
  return RecordedTable.parse(JSON.parse(await readFile(path, "utf8")));
}

const spaceOf = ({ dimensions }: TableHead) => ({
  dimensions: dimensions as Parameters<typeof pointKey>[0]["dimensions"],
});

/** The rows that are kept; a table of another space or other objectives is refused. */
export async function keptRows(path: string, head: TableHead): Promise<Row[]> {
  if (!existsSync(path)) return [];
  const found = await readTable(path);
  if (shape(found) !== shape(head)) {
    throw new Error(
      `Cannot go on with ${path}: it was recorded over another space or with other objectives; ` +
        "give --fresh to forget it, or --out to write elsewhere",
    );
  }
  return found.rows;
}

/** What is written is whole: it takes the old file's place when it is there to the end. */
export async function writeTable(path: string, table: RecordedTable): Promise<void> {
  await writeFile(`${path}.part`, tableText(RecordedTable.parse(table)));
  await rename(`${path}.part`, path);
}

export interface Recording {
  readonly path: string;
  readonly head: TableHead;
  readonly points: readonly SpacePoint[];
  /** Runs one recipe; what it throws ends the recording. */
  readonly record: (point: SpacePoint) => Promise<Omit<Row, "point">>;
  /** Milliseconds since 1970 after which no recipe is begun. */
  readonly until: number;
  readonly told: (row: Row, done: number) => void;
}

/** Records what is missing, point by point; gives the table, whose rows may still not be all. */
export async function recordTable(
  { path, head, points, record, until, told }: Recording,
): Promise<RecordedTable> {
  const space = spaceOf(head);
  const rows = await keptRows(path, head);
  const there = new Set(rows.map(({ point }) => pointKey(space, point)));
  for (const point of points) {
    if (there.has(pointKey(space, point))) continue;
    if (Date.now() >= until) break;
    const row = { point: { ...point }, ...await record(point) };
    rows.push(row);
    await writeTable(path, { ...head, rows });
    told(row, rows.length);
  }
  return { ...head, rows };
}

/** One of several processes that share the points. */
export interface Part {
  readonly number: number;
  readonly of: number;
}

/** `2/3`: the second of three. */
export function partOf(text: string): Part {
  const [number, of] = (/^([1-9]\d?)\/([1-9]\d?)$/.exec(text)?.slice(1) ?? []).map(Number);
  if (number === undefined || of === undefined || number > of) {
    throw new Error(`Cannot record --part ${text}: it is a number of a whole, such as 2/3`);
  }
  return { number, of };
}

/** What a process of several records: `alike` points that follow each other stay together. */
export function partPoints(
  points: readonly SpacePoint[],
  { number, of }: Part,
  alike = 1,
): SpacePoint[] {
  return points.filter((_, index) => Math.floor(index / alike) % of === number - 1);
}

/** Adds the rows that parts have and the table has not, or begins it, in the order of the points. */
export async function mergeTables(
  path: string,
  parts: readonly string[],
  points: readonly SpacePoint[],
): Promise<RecordedTable> {
  const [first] = [path, ...parts].filter((one) => existsSync(one));
  if (first === undefined) throw new Error(`Cannot merge into ${path}: no part has recorded a row`);
  const table = await readTable(first);
  const space = spaceOf(table);
  const found = new Map<string, Row>();
  for (const part of parts) {
    for (const row of await keptRows(part, table)) found.set(pointKey(space, row.point), row);
  }
  for (const row of table.rows) found.set(pointKey(space, row.point), row);
  const rows = points.flatMap((point) => found.get(pointKey(space, point)) ?? []);
  await writeTable(path, { ...table, rows });
  return { ...table, rows };
}
