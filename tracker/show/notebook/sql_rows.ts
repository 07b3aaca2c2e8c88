import { DRAWN, tableMedia, type TextColumn } from "./table.ts";
import { cellText, countText, formatTable } from "../../store/query/printed_answer.ts";
import type { QueryColumn, QueryResult, Value } from "../../store/query/result.ts";
import { DISPLAY, shown } from "../../ground/terminal/kernel.ts";

/**
 * The rows of a query as plain objects, numbers as numbers (also NaN), times as dates, lists as
 * arrays. In a notebook the array shows itself as a table.
 */
export type SqlRows<Row = Record<string, Value>> = Row[] & {
  readonly columns: readonly QueryColumn[];
  /** Whether the row cap cut the answer. */
  readonly capped: boolean;
  /** Why the answer lacks what was recorded last, or null. */
  readonly stale: string | null;
};

/** What a column is sorted by: numbers and times by size, all else by its text. */
function sortedBy(value: Value, type: string): string | number | null {
  if (value === null || typeof value === "number") return value;
  return value instanceof Date ? value.getTime() : cellText(value, type);
}

function tableHtml(result: QueryResult): string {
  const columns = result.columns.map(({ name, type }): TextColumn<QueryResult["rows"][number]> => {
    const of = (row: QueryResult["rows"][number]) => row[name] ?? null;
    return {
      heading: name,
      cell: (row) => of(row) === null ? "NULL" : cellText(of(row), type),
      sort: (row) => sortedBy(of(row), type),
    };
  });
  const notes = [countText(result), ...result.stale === null ? [] : [result.stale]];
  return tableMedia(columns, result.rows, { notes })["text/html"]!;
}

/** An answer as an array of rows that knows how to show itself. */
export function sqlRows<Row>(result: QueryResult): SqlRows<Row> {
  const { columns, capped, stale } = result;
  const display = () => {
    const text = formatTable({ ...result, rows: result.rows.slice(0, DRAWN) });
    return shown({ "text/html": tableHtml(result), "text/plain": text })[DISPLAY]!();
  };
  // Not enumerable: printed or compared, the array is its rows.
  return Object.defineProperties([...result.rows], {
    columns: { value: columns },
    capped: { value: capped },
    stale: { value: stale },
    [DISPLAY]: { value: display },
  }) as SqlRows<Row>; // the row's type is the caller's word
}
