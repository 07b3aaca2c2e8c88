import { visibleText } from "../../../core/errors.ts";
import {
  cutText,
  fitColumns,
  GAP,
  leftOutLine,
  outputWidth,
} from "../../ground/terminal/fit_columns.ts";

export interface TableOptions {
  /** Characters of a line; default: what standard output shows. */
  readonly width?: number;
  /** Titles in the order in which they stay where there is no room; default: from the left. */
  readonly first?: readonly string[];
}

/**
 * Columns aligned: text to the left, numbers to the right; no lines that break on copying. Where there
 * is no room, texts are cut and columns left out, which a last line says.
 */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { width = outputWidth(), first = head }: TableOptions = {},
): string {
  const shown = rows.map((row) => row.map(visibleText));
  const numeric = head.map((_, column) =>
    rows.length > 0 && rows.every((row) => /^([+−-]?[\d.,]+.*|–|)$/.test(row[column] ?? ""))
  );
  const fitted = fitColumns(
    head.map((title, column) => ({
      ...{ title, numeric: numeric[column]! },
      cells: shown.map((row) => row[column] ?? ""),
      importance: first.includes(title) ? -first.indexOf(title) : -first.length - column,
    })),
    width,
  );
  const line = (cells: readonly string[]) =>
    fitted.kept.map((column, i) => {
      const wide = fitted.widths[i]!;
      const text = cutText(cells[column] ?? "", wide);
      const pad = " ".repeat(Math.max(0, wide - [...text].length));
      return numeric[column] ? pad + text : text + pad;
    }).join(" ".repeat(GAP)).trimEnd();
  const rule = fitted.widths.map((wide) => "─".repeat(wide)).join(" ".repeat(GAP));
  return [line(head), rule, ...shown.map(line), ...leftOutLine(fitted)].join("\n");
}
