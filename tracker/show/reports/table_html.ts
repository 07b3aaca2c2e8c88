import { escapeHtml } from "../pages/page.ts";
import type { Block } from "./blocks.ts";

type Table = Extract<Block, { block: "table" }>;

/** A table with more rows is folded. */
const MOST_OPEN = 25;

/** A text column whose cells are longer than this takes room of its own. */
const LONG = 40;

/** First columns that name what their row is of. */
const HEADS_ROWS: ReadonlySet<string> = new Set(["", "trial", "study", "task", "what"]);

const NUMBER = /^[−-]?[\d.,]+( ?[%×a-zA-Z/]{0,10})?( ± [\d.]+)?$/;

/** What each column holds: numbers (or – where there is none), long texts, or neither. */
function kindsOf({ head, rows }: Table): ("number" | "text" | null)[] {
  return head.map((_, column) => {
    const cells = rows.map((row) => (row[column] ?? "").trim()).filter((cell) => cell !== "–");
    if (cells.length > 0 && cells.every((cell) => NUMBER.test(cell))) return "number";
    return cells.some((cell) => cell.length > LONG) ? "text" : null;
  });
}

/** A table that a script may sort; its rows name their trials, and a long one is folded. */
export function tableHtml(
  block: Table,
  trials: ReadonlyMap<string, string>,
  inline: (text: string) => string,
): string {
  const kinds = kindsOf(block);
  const headed = HEADS_ROWS.has(block.head[0] ?? "");
  const cell = (text: string, column: number, opening: "td" | `th scope="${"col" | "row"}"`) => {
    const kind = kinds[column];
    const tag = opening.slice(0, 2);
    return `<${opening}${kind == null ? "" : ` class="${kind}"`}>${inline(text)}</${tag}>`;
  };
  const rows = block.rows.map((row) => {
    const trial = trials.get(row[0] ?? "");
    const of = trial === undefined ? "" : ` data-trial="${escapeHtml(trial)}"`;
    return `<tr${of}>${
      row.map((text, at) => cell(text, at, headed && at === 0 ? 'th scope="row"' : "td")).join("")
    }</tr>`;
  });
  const note = block.note === undefined ? "" : `<p class="note">${inline(block.note)}</p>`;
  const table =
    `<div class="scroll" tabindex="0" role="group"><table data-pare-sortable><thead><tr>${
      block.head.map((text, at) => cell(text, at, 'th scope="col"')).join("")
    }</tr></thead><tbody>\n${rows.join("\n")}\n</tbody></table></div>`;
  return rows.length > MOST_OPEN
    ? `<details><summary>${rows.length} rows, folded</summary>${table}</details>${note}`
    : `${table}${note}`;
}
