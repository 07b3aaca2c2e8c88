import { escapeHtml } from "./reports/render_html.ts";
import { cellText, countText, formatTable, isNumeric } from "./store/query/printed_answer.ts";
import type { QueryColumn, QueryResult, Value } from "./store/query/result.ts";
import { DISPLAY, shown } from "./terminal/kernel.ts";

/** Rows that a notebook draws; all others are in the array. */
const DRAWN = 200;

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

function cellHtml(value: Value, type: string): string {
  if (value === null) return '<td style="color:gray">NULL</td>';
  const align = isNumeric(type) ? ' style="text-align:right"' : "";
  return `<td${align}>${escapeHtml(cellText(value, type))}</td>`;
}

function tableHtml(result: QueryResult): string {
  const { columns, rows, stale } = result;
  const drawn = rows.slice(0, DRAWN);
  const head = columns.map(({ name, type }) =>
    `<th title="${escapeHtml(type)}">${escapeHtml(name)}</th>`
  ).join("");
  const body = drawn.map((row) =>
    `<tr>${columns.map(({ name, type }) => cellHtml(row[name] ?? null, type)).join("")}</tr>`
  ).join("");
  const count = drawn.length < rows.length
    ? `${countText(result)}; drawn: the first ${drawn.length}`
    : countText(result);
  const note = stale === null ? "" : `<p>${escapeHtml(stale)}</p>`;
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>` +
    `<p>${count}</p>${note}`;
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
