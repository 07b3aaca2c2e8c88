/** The loop of a benchmark that keeps every cell as soon as it is measured. */
import { appendFile } from "node:fs/promises";
import process from "node:process";

/** What a run is told on the command line. */
export interface CellRun<C, K> {
  readonly cells: readonly C[];
  /** What is kept already; cells are added as they are measured. */
  readonly done: K[];
  /** Where they are added too. */
  readonly path: string;
  /** After so many no cell is begun. */
  readonly minutes: number;
  readonly measure: (cell: C, done: readonly K[]) => Promise<K>;
}

export const say = (text: string) => console.error(`bench: ${text}`);

/** The number after `--minutes`; ends the process where it is none. */
export function minutesOf(text: string): number {
  const minutes = Number(text);
  if (minutes > 0) return minutes;
  console.error(`Cannot measure for --minutes ${text}: say a number above 0`);
  process.exit(2);
}

/** The cells named like `only`. */
export function named<C extends { name: string }>(cells: readonly C[], only: string): C[] {
  const found = cells.filter(({ name }) => name.includes(only));
  if (found.length === 0) throw new Error(`No cell is named like "${only}"`);
  return found;
}

/** Measures every cell that is missing, the first ones first. */
export async function runCells<C extends { name: string }, K extends { name: string }>(
  { cells, done, path, minutes, measure }: CellRun<C, K>,
): Promise<void> {
  const missing = cells.filter((one) => done.every(({ name }) => name !== one.name));
  const end = Date.now() + 60_000 * minutes;
  for (const [index, cell] of missing.entries()) {
    if (Date.now() > end) {
      say(`${minutes} minutes are over: ${missing.length - index} cells are left`);
      break;
    }
    say(`${cell.name}, ${index + 1} of ${missing.length}`);
    const found = await measure(cell, done);
    await appendFile(path, `${JSON.stringify(found)}\n`);
    done.push(found);
  }
}
