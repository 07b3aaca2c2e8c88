import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

/** Which loops a row of the README's table is of. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  "bytes, records": ["bytes", "index", "records"],
  "power cuts, calls": [
    ...["crash_states", "crash_runs", "crash_publish", "crash_collection"],
    ...["syscalls", "syscalls_copies", "syscalls_runs", "syscalls_publish"],
  ],
  "queue, processes": ["scheduler", "engine", "engines", "processes", "runs", "kills"],
  "messages, pages": ["messages", "answers", "assistant", "pages", "browser"],
  "strangers' files": ["doors", "python_doors"],
};

/** Rows of a page's tables by their first cell. */
function rowsOf(page: string): ReadonlyMap<string, readonly string[]> {
  const path = fileURLToPath(new URL(`../../${page}`, import.meta.url));
  const lines = Deno.readTextFileSync(path).split("\n").filter((line) => line.startsWith("|"));
  return new Map(lines.map((line) => {
    const [first = "", ...cells] = line.split("|").slice(1, -1).map((cell) => cell.trim());
    return [first, cells];
  }));
}

const count = (cell: string | undefined) => Number(cell!.replaceAll(",", ""));

Deno.test("the README's table of faults adds up what docs/reliability.md tells of each loop", () => {
  const [summed, loops] = [rowsOf("README.md"), rowsOf("docs/reliability.md")];
  for (const [row, names] of Object.entries(ROWS)) {
    const [points, runs, found, , date] = summed.get(row)!;
    const own = names.map((name) => loops.get(name)!); // about, points, runs, found, last failing, date
    const sum = (n: number) => own.reduce((all, cells) => all + count(cells[n]), 0);
    assert.deepEqual([points, runs, found].map(count), [sum(1), sum(2), sum(3)], row);
    assert.equal(date, own.map((cells) => cells[5]!).toSorted().at(-1), row);
  }
  const told = Object.values(ROWS).flat();
  const walked = [...loops].filter(([, cells]) => /^\d{4}-/.test(cells.at(-1)!));
  assert.deepEqual(walked.map(([name]) => name).toSorted(), told.toSorted());
});
