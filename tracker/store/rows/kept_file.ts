import { createHash } from "node:crypto";
import { resolve, sep } from "node:path";
import { parquetReadObjects } from "hyparquet";
import type { z } from "zod";
import { UsageError } from "../../../core/errors.ts";

/** A file of the store that a record holds the hash of. */
export interface KeptFile {
  /** Relative to the store. */
  readonly path: string;
  readonly sha256: string;
}

/** A kept file is not the one that its record tells of: what a user reads of it is the sentence. */
export class ChangedFile extends UsageError {}

/** Numbers that JSON cannot carry, as the workers before Parquet wrote them. */
const SPECIAL: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity };

function parseLine(line: string): unknown {
  const row = JSON.parse(line) as Record<string, unknown>; // checked by its reader
  for (const field of ["score", "log_likelihood"]) {
    const value = row[field];
    if (typeof value === "string") row[field] = SPECIAL[value] ?? value;
  }
  return row;
}

function linesOf(bytes: Uint8Array): unknown[] {
  const lines = new TextDecoder().decode(bytes).split("\n");
  return lines.filter((line) => line.trim() !== "").map(parseLine);
}

/** The rows of a file's content: Parquet, or JSON Lines as older versions wrote them. */
async function rowsOf(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<unknown[]> {
  if (path.endsWith(".jsonl")) return linesOf(bytes);
  const slice = (from: number, to?: number): ArrayBuffer => bytes.slice(from, to).buffer;
  return await parquetReadObjects({ file: { byteLength: bytes.length, slice } });
}

/**
 * The rows of a worker's file, each as `shape` has it; throws where the file is not the one that the
 * worker hashed. `what`: a row, for errors.
 */
export async function readKept<T>(
  path: string,
  sha256: string,
  shape: z.ZodType<T>,
  what: string,
): Promise<T[]> {
  const bytes = await Deno.readFile(path);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) {
    throw new ChangedFile(
      `Cannot trust ${path} as it was changed: its sha256 must be ${sha256}, it is ${found}`,
    );
  }
  try {
    return (await rowsOf(path, bytes)).map((row, index) => {
      const parsed = shape.safeParse(row);
      if (parsed.success) return parsed.data;
      const issue = parsed.error.issues[0];
      throw new Error(
        `row ${index + 1} is no ${what}: ${issue?.path.join(".")}: ${issue?.message}`,
      );
    });
  } catch (error) {
    throw new Error(`Cannot read ${path}: ${(error as Error).message.slice(0, 300)}`);
  }
}

function isBelow(root: string, path: string): boolean {
  return path.startsWith(resolve(root) + sep);
}

/** Whether a file is the store's: by its name, and by where the links on the way lead. */
export async function isInStore(root: string, file: string): Promise<boolean> {
  return isBelow(root, file) && isBelow(await Deno.realPath(root), await Deno.realPath(file));
}

/**
 * What a file of the store is read as, or why it is not: gone, changed since, or not readable. The
 * reason names the file as its record does: a store that is moved says the same. `what`: the file.
 */
export async function keptInStore<T>(
  root: string,
  { path, sha256 }: KeptFile,
  what: string,
  read: (file: string, sha256: string) => Promise<T>,
): Promise<{ value: T } | { problem: string }> {
  const file = resolve(root, path);
  try {
    if (!await isInStore(root, file)) {
      return { problem: `Cannot read the ${what} ${path} as it lies outside the store` };
    }
    return { value: await read(file, sha256) };
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { problem: `Cannot read the ${what} ${path} as it is gone` }
      : { problem: (error as Error).message.replaceAll(resolve(root) + sep, "") };
  }
}
