/**
 * The table of every page: a report's, a notebook's, the board's, and the answers of a box for SQL,
 * which a browser makes itself. Any text is a stranger's, and is escaped.
 */

/**
 * What stands in a cell: text, or markup that its maker has escaped.
 * @typedef {string | { readonly html: string }} Cell
 */

/**
 * A column of a table.
 * @template Row
 * @typedef {object} Column
 * @property {string} heading
 * @property {string | undefined} [unit] of every cell; it stands behind the heading
 * @property {(row: Row) => Cell} cell
 * @property {((row: Row) => string | number | null) | undefined} [sort] what the row is sorted by, null
 *   last either way; absent: what stands in the cell
 * @property {boolean | undefined} [numeric] aligned to the right; absent: where its cells are numbers
 * @property {boolean | undefined} [heads] its cells name their rows
 * @property {"ascending" | "descending" | undefined} [sorted] how the rows came
 */

/**
 * What a table says of itself.
 * @template Row
 * @typedef {object} TableOptions
 * @property {string | undefined} [caption] what a screen reader says first
 * @property {boolean | undefined} [unseen] the caption stands above the table already
 * @property {boolean | undefined} [sortable] by whoever reads it, see sort.js; it is where it is not said
 * @property {number | undefined} [fold] a table of more rows is folded
 * @property {number | undefined} [widest] characters of a text; the whole of it is its tooltip
 * @property {boolean | undefined} [inline] styles in the cells, where a page has no style sheet
 * @property {((row: Row) => string | undefined) | undefined} [trial] whose row it is, by trial id
 */

/** A text column whose cells are longer than this takes room of its own. */
const LONG = 40;
/** A text of so many characters stays on one line where a notebook would break it at its hyphens. */
const NAME = 32;

const NUMBER = /^[−-]?[\d.,]+( ?[%×a-zA-Z/]{0,10})?( ± [\d.]+)?$/;

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * Text that cannot be taken for markup.
 * @param {string} text
 * @returns {string}
 */
export function escapeHtml(text) {
  return text.replaceAll(/[&<>"']/g, (one) => ESCAPES[one]);
}

/** What a column holds: numbers (or – where there is none), long texts, or neither. */
function kindOf(column, rows) {
  if (column.numeric !== undefined) return column.numeric ? "number" : "";
  const { sort = () => null } = column;
  const keys = rows.map(sort).filter((key) => key !== null);
  if (keys.length > 0 && keys.every((key) => typeof key === "number")) return "number";
  const texts = rows.map(column.cell).map((cell) => typeof cell === "string" ? cell.trim() : "");
  const told = texts.filter((text) => text !== "–");
  const counted = keys.length === 0 && told.length > 0;
  if (counted && told.every((text) => NUMBER.test(text))) return "number";
  return told.some((text) => text.length > LONG) ? "text" : "";
}

function styleOf(kind, length) {
  if (kind === "number") {
    return "text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums";
  }
  return `text-align:left${length <= NAME ? ";white-space:nowrap" : ""}`;
}

function look(kind, length, inline) {
  if (inline) return ` style="${styleOf(kind, length)}"`;
  return kind === "" ? "" : ` class="${kind}"`;
}

function cellHtml(column, row, kind, { inline, widest = Infinity }) {
  const cell = column.cell(row);
  const chars = typeof cell === "string" ? [...cell] : [];
  const cut = chars.length > widest;
  const shown = cut ? `${chars.slice(0, widest - 1).join("")}…` : cell;
  const key = column.sort?.(row);
  return `<${column.heads ? 'th scope="row"' : "td"}${look(kind, chars.length, inline)}` +
    (key === undefined ? "" : ` data-key="${escapeHtml(String(key ?? ""))}"`) +
    (cut ? ` title="${escapeHtml(cell)}"` : "") +
    `>${typeof shown === "string" ? escapeHtml(shown) : shown.html}</${
      column.heads ? "th" : "td"
    }>`;
}

function headHtml({ heading, unit, sorted }, kind, inline) {
  const words = unit === undefined ? heading : `${heading} (${unit})`;
  const order = sorted === undefined ? "" : ` aria-sort="${sorted}"`;
  return `<th scope="col"${look(kind, words.length, inline)}${order}>${escapeHtml(words)}</th>`;
}

/**
 * A table as HTML; without a head where no column has a heading. It scrolls in itself where a page is narrow, and by the keyboard too.
 * @template Row
 * @param {readonly Column<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {TableOptions<Row>} [options]
 * @returns {string}
 */
export function tableHtml(columns, rows, options = {}) {
  const { caption, unseen, sortable = true, fold = Infinity, inline, trial } = options;
  const kinds = columns.map((column) => kindOf(column, rows));
  const head = columns.map((column, at) => headHtml(column, kinds[at], inline)).join("");
  const body = rows.map((row) => {
    const id = trial?.(row);
    const of = id === undefined ? "" : ` data-trial="${escapeHtml(id)}"`;
    const cells = columns.map((column, at) => cellHtml(column, row, kinds[at], options));
    return `<tr${of}>${cells.join("")}</tr>`;
  }).join("\n");
  const named = caption === undefined ? null : escapeHtml(caption);
  const table = `<div class="scroll"${inline ? ' style="overflow-x:auto"' : ""} tabindex="0" ` +
    `role="group"${named === null ? "" : ` aria-label="${named}"`}>` +
    `<table${sortable ? " data-pare-sortable" : ""}>` +
    (named === null ? "" : `<caption${unseen ? ' class="unseen"' : ""}>${named}</caption>`) +
    (columns.every(({ heading }) => heading === "") ? "" : `<thead><tr>${head}</tr></thead>`) +
    `<tbody>\n${body}\n</tbody></table></div>`;
  return rows.length > fold
    ? `<details><summary>${rows.length} rows, folded</summary>${table}</details>`
    : table;
}
