import type { QueryResult, Value } from "./result.ts";
import { toJson } from "../journal/record_line.ts";
import { cutText, fitColumns, GAP, leftOutLine } from "../../ground/terminal/fit_columns.ts";

const WIDEST = 60;

function momentText(value: Date, type: string): string {
  const text = value.toISOString();
  return type === "DATE" ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
}

/** A cell in few characters: floats to six digits, times to the second, NULL as nothing. */
export function cellText(value: Value, type: string): string {
  if (value === null) return "";
  if (typeof value === "number") {
    if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
    return String(Number(value.toPrecision(6)));
  }
  if (value instanceof Date) return momentText(value, type);
  return typeof value === "object" ? toJson(value) : String(value);
}

/** Text on one line that cannot move the cursor, cut where it is too wide. */
function shown(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what must not reach the terminal
  const flat = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
  const chars = [...flat];
  return chars.length > WIDEST ? chars.slice(0, WIDEST - 1).join("") + "…" : flat;
}

/** Whether a column of DuckDB's type holds numbers. */
export function isNumeric(type: string): boolean {
  return /^(DOUBLE|FLOAT|DECIMAL|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\b)(?!.*\[)/.test(type);
}

/** How many rows there are, and whether the cap cut them. */
export function countText({ rows, capped }: Pick<QueryResult, "rows" | "capped">): string {
  if (capped) return `first ${rows.length} rows; there are more`;
  return `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
}

/**
 * Aligned columns for a terminal; floats to six digits, and a last line that counts the rows. Where
 * `width` has no room for all columns, the first ones stay.
 */
export function formatTable(
  { columns, rows, capped }: QueryResult,
  width: number = Infinity,
): string {
  const cells = rows.map((row) =>
    columns.map(({ name, type }) => shown(cellText(row[name] ?? null, type)))
  );
  const fitted = fitColumns(
    columns.map(({ name, type }, i) => ({
      ...{ title: name, numeric: isNumeric(type), cells: cells.map((row) => row[i]!) },
    })),
    width,
  );
  const pad = (texts: readonly string[]) => (column: number, i: number): string => {
    const text = cutText(texts[column]!, fitted.widths[i]!);
    const space = " ".repeat(fitted.widths[i]! - [...text].length);
    return isNumeric(columns[column]!.type) ? space + text : text + space;
  };
  const gap = " ".repeat(GAP);
  const line = (texts: readonly string[]): string =>
    fitted.kept.map(pad(texts)).join(gap).trimEnd();
  return [
    line(columns.map(({ name }) => name)),
    fitted.widths.map((wide) => "─".repeat(wide)).join(gap),
    ...cells.map(line),
    ...leftOutLine(fitted),
    `(${countText({ rows, capped })})`,
  ].join("\n") + "\n";
}

function csvCell(value: Value): string {
  if (value === null) return "";
  const text = value instanceof Date
    ? value.toISOString()
    : typeof value === "object"
    ? toJson(value)
    : String(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** CSV as RFC 4180 has it, full precision; NULL is an empty field, an empty text is `""`. */
export function formatCsv({ columns, rows }: QueryResult): string {
  const names = columns.map(({ name }) => name);
  const lines = rows.map((row) => names.map((name) => csvCell(row[name] ?? null)).join(","));
  return [names.map(csvCell).join(","), ...lines].join("\n") + "\n";
}

/** A JSON array of objects; NaN and infinities as the strings "NaN", "Infinity", "-Infinity". */
export function formatJson({ rows }: QueryResult): string {
  return `[${rows.map((row) => `\n  ${toJson(row)}`).join(",")}\n]\n`;
}
