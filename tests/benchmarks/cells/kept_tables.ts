/** Tables of the documentation that are printed from kept rows: written and read between two marks. */

/** Where a page has a table: behind the mark that names it and its command, before the one of its end. */
function placeOf(page: string, name: string): [number, number] {
  const [before, after] = [`<!-- ${name}: deno task `, `<!-- end of ${name} -->`];
  const start = page.indexOf("-->", page.indexOf(before));
  const end = page.indexOf(after);
  if (page.includes(before) && end > start) return [start + "-->".length, end];
  throw new Error(
    `Cannot find the table ${name} in the page: it stands between ${before}… --> and ${after}`,
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
