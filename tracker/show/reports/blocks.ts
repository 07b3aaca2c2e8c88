import type { SqlBox } from "../pages/sql_html.ts";

/** What a report is made of, before anyone decides how it looks. */
export type Block =
  | { block: "heading"; level: 1 | 2 | 3; text: string }
  | { block: "paragraph"; text: string }
  | { block: "list"; items: string[] }
  | { block: "table"; head: string[]; rows: string[][]; note?: string }
  | { block: "code"; language: string; text: string }
  /** `narrow`: the same for a phone. `points`: they answer to the reader, where the page has a script. */
  | {
    block: "figure";
    svg: string;
    file: string;
    caption: string;
    narrow?: string;
    points?: boolean;
  }
  /** Words and what they mean. */
  | { block: "terms"; terms: (readonly [string, string])[] }
  /** Weights that a reader moves, from 0 to 1; without a script nothing. */
  | { block: "weights"; weights: Readonly<Partial<Record<string, number>>>; words: string }
  /** A box for SQL; null: its engine and data are not beside the report. */
  | { block: "sql"; box: SqlBox | null; study_id: string }
  /** A field that finds rows of the page's tables; without a script nothing. */
  | { block: "search"; label: string }
  /** Text that few readers want, below a line that says what it is. */
  | { block: "fold"; summary: string; blocks: Block[] };

/** A heading. */
export function heading(level: 1 | 2 | 3, text: string): Block {
  return { block: "heading", level, text };
}

/** A paragraph of plain text. */
export function paragraph(text: string): Block {
  return { block: "paragraph", text };
}

/** Bulleted lines; nothing where there are none. */
export function list(items: string[]): Block[] {
  return items.length === 0 ? [] : [{ block: "list", items }];
}

/** A table with an optional note below it. */
export function table(head: string[], rows: string[][], note?: string): Block {
  return { block: "table", head, rows, ...(note === undefined ? {} : { note }) };
}

/**
 * Each part of the blocks, which begins with a heading of the second level, as a line that a reader opens:
 * its title, and how many rows its only table has. Blocks before the first heading stay as they are.
 */
export function folded(blocks: readonly Block[]): Block[] {
  const starts = blocks.flatMap((one, at) =>
    one.block === "heading" && one.level === 2 ? [{ at, title: one.text }] : []
  );
  return [
    ...blocks.slice(0, starts[0]?.at),
    ...starts.map(({ at, title }, i): Block => {
      const inner = blocks.slice(at + 1, starts[i + 1]?.at);
      const tables = inner.filter((one) => one.block === "table");
      const rows = tables.length === 1 ? ` (${tables[0]!.rows.length})` : "";
      return { block: "fold", summary: `${title}${rows}`, blocks: inner };
    }),
  ];
}
