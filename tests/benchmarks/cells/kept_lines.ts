/** What a benchmark has measured, a line a cell: a run that was stopped goes on with the next one. */
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import type { z } from "zod";

/** The lines of a kept file; a last line that a kill cut off counts as none. */
export function readLines<T>(schema: z.ZodType<T>, text: string): T[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.flatMap((line, index) => {
    try {
      return [schema.parse(JSON.parse(line))];
    } catch (error) {
      if (index === lines.length - 1 && error instanceof SyntaxError) return [];
      throw new Error(`Cannot read line ${index + 1} of the kept cells: ${error}`);
    }
  });
}

/** What a file holds, which is then written as it was read: a torn last line goes. */
export async function keptLines<T>(
  schema: z.ZodType<T>,
  path: string,
  fresh: boolean,
): Promise<T[]> {
  if (fresh) await rm(path, { force: true });
  const done = existsSync(path) ? readLines(schema, await readFile(path, "utf8")) : [];
  await writeFile(path, done.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return done;
}
