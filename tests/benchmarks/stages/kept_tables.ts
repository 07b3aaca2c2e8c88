/** Tables of the documentation that are printed from kept rows: written and read between two marks. */

/** Marks of a table in a page: before it and after it. */
function marksOf(name: string): [string, string] {
  return [`<!-- ${name}: deno task bench:stages --figure -->`, `<!-- end of ${name} -->`];
}

/** Where a page has a table: behind the first mark, before the second. */
function placeOf(page: string, name: string): [number, number] {
  const [before, after] = marksOf(name);
  const [start, end] = [page.indexOf(before), page.indexOf(after)];
  if (start >= 0 && end > start) return [start + before.length, end];
  throw new Error(
    `Cannot find the table ${name} in the page: it stands between ${before} and ${after}`,
  );
}

/** The page with this table in place of its own. */
export function withTable(page: string, name: string, table: string): string {
  const [start, end] = placeOf(page, name);
  return `${page.slice(0, start)}\n\n${table}\n\n${page.slice(end)}`;
}

/** What a page has between a table's marks. */
export function tableOf(page: string, name: string): string {
  return page.slice(...placeOf(page, name)).trim();
}

/** A table's cells, line by line, whatever they are padded with. */
export function cellsOf(table: string): string[][] {
  return table.split("\n").filter((line) => !/^[|\s:-]+$/.test(line)).map((line) =>
    line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim())
  );
}
