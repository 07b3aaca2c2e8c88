import { escapeHtml } from "../reports/render_html.ts";
import { textTable } from "../terminal/table.ts";
import type { Media } from "../../ground/terminal/kernel.ts";
import { number } from "../view/number_text.ts";
import { type Cell, type FlatRow, flatRow } from "./flat_row.ts";

/** Rows that a cell draws; all others are in the value. */
export const DRAWN = 200;

/** Characters of a text that a cell of the table shows; the whole of it is its tooltip. */
const WIDEST = 120;
/** A text of so many characters stays on one line. */
const NAME_CHARS = 32;

/** A column of a table: what stands in a cell, and what it is sorted by. */
export interface Column<Row> {
  readonly heading: string;
  readonly text: (row: Row) => string;
  /** Null is last either way. */
  readonly sort: (row: Row) => string | number | null;
}

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
export function columnsOf(rows: readonly FlatRow[], names?: readonly string[]): Column<FlatRow>[] {
  const all = names ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return all.map((name) => {
    const unit = unitOf(name, rows.map((row) => row[name] ?? null));
    return {
      heading: unit === null || name.endsWith(unit.unit) ? name : `${name} (${unit.unit})`,
      text: (row) => cellText(row[name] ?? null, unit?.per ?? 1),
      sort: (row) => {
        const value = row[name] ?? null;
        if (value instanceof Date) return value.getTime();
        return typeof value === "boolean" ? Number(value) : value;
      },
    };
  });
}

/** Sorts the table by the heading that is clicked, or chosen and entered; again: the other way. */
const SORT =
  `(()=>{const t=document.getElementById("ID");if(!t||!t.tHead)return;const h=[...t.tHead.rows[0].cells];` +
  `const by=i=>{const up=h[i].getAttribute("aria-sort")!=="ascending";` +
  `h.forEach(c=>c.removeAttribute("aria-sort"));h[i].setAttribute("aria-sort",up?"ascending":"descending");` +
  `const key=r=>{const v=r.cells[i].dataset.v;return v===undefined?null:r.cells[i].dataset.n?Number(v):v};` +
  `const b=t.tBodies[0];[...b.rows].sort((x,y)=>{const p=key(x),q=key(y);` +
  `if(p===null||Number.isNaN(p))return q===null||Number.isNaN(q)?0:1;if(q===null||Number.isNaN(q))return -1;` +
  `const d=typeof p==="number"&&typeof q==="number"?p-q:String(p).localeCompare(String(q));return up?d:-d})` +
  `.forEach(r=>b.append(r))};` +
  `h.forEach((c,i)=>{c.style.cursor="pointer";c.tabIndex=0;c.title="Sort by this column";` +
  `c.addEventListener("click",()=>by(i));` +
  `c.addEventListener("keydown",e=>{if(e.key==="Enter"){by(i)}})})})()`;

const FIGURE_STYLE = "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums";

/** JupyterLab aligns cells to the right, and breaks a trial's name at its hyphens. */
function textStyle(length: number): string {
  return `text-align:left${length <= NAME_CHARS ? ";white-space:nowrap" : ""}`;
}

function cellHtml<Row>(column: Column<Row>, row: Row): string {
  const text = column.text(row);
  const sort = column.sort(row);
  const chars = [...text];
  const cut = chars.length > WIDEST;
  const shown = cut ? `${chars.slice(0, WIDEST - 1).join("")}…` : text;
  const numeric = typeof sort === "number";
  return `<td style="${numeric ? FIGURE_STYLE : textStyle(chars.length)}"` +
    (sort === null ? "" : ` data-v="${escapeHtml(String(sort))}"`) +
    (numeric ? ' data-n="1"' : "") +
    (cut ? ` title="${escapeHtml(text)}"` : "") + `>${escapeHtml(shown)}</td>`;
}

/** What is said above and below a table. */
export interface TableWords {
  readonly title?: string | undefined;
  /** A sentence each. */
  readonly notes?: readonly string[];
}

/** A table as a cell shows it: HTML that sorts, and aligned columns. No rows: it says so. */
export function tableMedia<Row>(
  columns: readonly Column<Row>[],
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
  const id = `pare-${crypto.randomUUID()}`;
  const head = columns.map(({ heading }) =>
    `<th scope="col" style="text-align:left">${escapeHtml(heading)}</th>`
  ).join("");
  const body = drawn.map((row) =>
    `<tr>${columns.map((column) => cellHtml(column, row)).join("")}</tr>`
  ).join("");
  const table = rows.length === 0
    ? ""
    : `<table id="${id}"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>` +
      `<script>${SORT.replace("ID", id)}</script>`;
  const html = `<div style="overflow-x:auto;color:var(--jp-ui-font-color1,currentColor)">` +
    (title === undefined ? "" : `<p><strong>${escapeHtml(title)}</strong></p>`) + table +
    said.map((one) => `<p>${escapeHtml(one)}</p>`).join("") + "</div>";
  const text = rows.length === 0 ? [] : [textTable(
    columns.map(({ heading }) => heading),
    drawn.map((row) => columns.map((column) => oneLine(column.text(row)))),
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
