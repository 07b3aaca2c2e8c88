import { type Column, escapeHtml, tableHtml } from "../pages/client/table.js";
import { pageScript } from "../pages/page.ts";
import { textTable } from "../terminal/table.ts";
import type { Media } from "../../ground/terminal/kernel.ts";
import { number } from "../view/number_text.ts";
import { type Cell, type FlatRow, flatRow } from "./flat_row.ts";

/** Rows that a cell draws; all others are in the value. */
export const DRAWN = 200;

/** Characters of a text that a cell of the table shows; the whole of it is its tooltip. */
const WIDEST = 120;

/** A column of a table that is also printed: its cells are text. */
export type TextColumn<Row> = Omit<Column<Row>, "cell"> & { cell(row: Row): string };

/** What the unit of a column is divided by, and called. */
function unitOf(name: string, values: readonly Cell[]): { per: number; unit: string } | null {
  const largest = Math.max(
    0,
    ...values.filter((one) => Number.isFinite(one)).map((one) => Math.abs(Number(one))),
  );
  if (/(^|_)bytes$/.test(name)) {
    return largest >= 1e9
      ? { per: 1e9, unit: "GB" }
      : largest >= 1e5
      ? { per: 1e6, unit: "MB" }
      : { per: 1, unit: "bytes" };
  }
  if (/(^|_)seconds$/.test(name)) return { per: 1, unit: "s" };
  if (/(^|_)ms$/.test(name)) return { per: 1, unit: "ms" };
  if (/(^|_)joules$/.test(name)) return { per: 1, unit: "J" };
  return null;
}

function cellText(value: Cell, per: number): string {
  if (value === null) return "–";
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "–" : value.toISOString().slice(0, 19).replace("T", " ");
  }
  if (typeof value !== "number") return String(value);
  const shown = value / per;
  return Number.isInteger(shown) ? String(shown) : number(shown, 4);
}

/** The columns of flat rows, each under its own name, with its unit where the name tells it. */
export function columnsOf(
  rows: readonly FlatRow[],
  names?: readonly string[],
): TextColumn<FlatRow>[] {
  const all = names ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return all.map((name) => {
    const unit = unitOf(name, rows.map((row) => row[name] ?? null));
    return {
      heading: name,
      unit: unit === null || name.endsWith(unit.unit) ? undefined : unit.unit,
      cell: (row) => cellText(row[name] ?? null, unit?.per ?? 1),
      sort: (row) => {
        const value = row[name] ?? null;
        if (value instanceof Date) return value.getTime();
        return typeof value === "boolean" ? Number(value) : value;
      },
    };
  });
}

/** What sorts the tables of a cell; a cell's page has no script of its own. */
const SORT = `<script>(()=>{${pageScript("sort.js")};bringTables(document)})()</script>`;

/** What is said above and below a table. */
export interface TableWords {
  readonly title?: string | undefined;
  /** A sentence each. */
  readonly notes?: readonly string[];
}

/** A table as a cell shows it: HTML that sorts, and aligned columns. No rows: it says so. */
export function tableMedia<Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
  { title, notes = [] }: TableWords = {},
): Media {
  const drawn = rows.slice(0, DRAWN);
  const count = drawn.length < rows.length
    ? [`${rows.length} rows; drawn: the first ${drawn.length}`]
    : rows.length === 0
    ? ["No rows."]
    : [];
  const said = [...count, ...notes];
  const table = rows.length === 0
    ? ""
    : tableHtml(columns, drawn, { inline: true, widest: WIDEST }) + SORT;
  const html = `<div style="color:var(--jp-ui-font-color1,currentColor)">` +
    (title === undefined ? "" : `<p><strong>${escapeHtml(title)}</strong></p>`) + table +
    said.map((one) => `<p>${escapeHtml(one)}</p>`).join("") + "</div>";
  const text = rows.length === 0 ? [] : [textTable(
    columns.map(({ heading, unit }) => unit === undefined ? heading : `${heading} (${unit})`),
    drawn.map((row) => columns.map((column) => oneLine(column.cell(row)))),
  )];
  return {
    "text/html": html,
    "text/plain": [...(title === undefined ? [] : [title]), ...text, ...said].join("\n"),
  };
}

/** Text that cannot break the line or move the cursor. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what must not reach a terminal
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** Any rows as a table: nested figures are opened into columns, numbers rounded. */
export function rowsMedia(
  rows: readonly object[],
  { columns, ...words }: TableWords & { readonly columns?: readonly string[] | undefined } = {},
): Media {
  const flat = rows.map(flatRow);
  return tableMedia(columnsOf(flat, columns), flat, words);
}
