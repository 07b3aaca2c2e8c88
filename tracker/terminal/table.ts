/** Columns aligned: text to the left, numbers to the right; no lines that break on copying. */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => [...(row[column] ?? "")].length))
  );
  const numeric = head.map((_, column) =>
    rows.length > 0 && rows.every((row) => /^([−-]?[\d.,]+.*|–|)$/.test(row[column] ?? ""))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) => {
      const pad = " ".repeat(Math.max(0, widths[column]! - [...cell].length));
      return numeric[column] ? pad + cell : cell + pad;
    }).join("  ").trimEnd();
  return [line(head), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)].join("\n");
}
