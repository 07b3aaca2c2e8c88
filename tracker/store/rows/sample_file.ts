import { createHash } from "node:crypto";
import { resolve, sep } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { SampleResult } from "../../../core/mod.ts";
import { adds, type Cell, type Change, type Row } from "./change.ts";

interface SamplesWritten {
  study_id: string;
  trial_id: string;
  fidelity: string;
  path: string;
  sha256: string;
}

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
async function parseSamples(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<SampleResult[]> {
  const slice = (from: number, to?: number): ArrayBuffer => bytes.slice(from, to).buffer;
  const rows: unknown[] = path.endsWith(".jsonl")
    ? linesOf(bytes)
    : await parquetReadObjects({ file: { byteLength: bytes.length, slice } });
  return rows.map((row, index) => {
    const parsed = SampleResult.safeParse(row);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw new Error(`row ${index + 1} is no sample: ${issue?.path.join(".")}: ${issue?.message}`);
  });
}

/** A worker's per-sample results; throws where the file is not the one that the worker hashed. */
export async function readSamples(path: string, sha256: string): Promise<SampleResult[]> {
  const bytes = await Deno.readFile(path);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) {
    throw new Error(
      `Cannot trust ${path} as it was changed: its sha256 must be ${sha256}, it is ${found}`,
    );
  }
  try {
    return await parseSamples(path, bytes);
  } catch (error) {
    throw new Error(`Cannot read ${path}: ${(error as Error).message.slice(0, 300)}`);
  }
}

/** Columns that a file of an earlier version lacks are NULL. */
function withoutUndefined(row: Record<string, Cell | undefined>): Row {
  return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, cell ?? null]));
}

function isBelow(root: string, path: string): boolean {
  return path.startsWith(resolve(root) + sep);
}

/**
 * The rows of a samples file, or why there are none: gone, changed since, or not readable. The reason
 * names the file as its record does: a store that is moved says the same.
 */
export async function sampleChanges(
  root: string,
  record: SamplesWritten,
): Promise<{ changes: Change[] } | { problem: string }> {
  const { study_id, trial_id, fidelity, path, sha256 } = record;
  const file = resolve(root, path);
  try {
    // By its name, and by where the links on the way lead.
    if (!isBelow(root, file) || !isBelow(await Deno.realPath(root), await Deno.realPath(file))) {
      return { problem: `Cannot read the samples file ${path} as it lies outside the store` };
    }
    const samples = await readSamples(file, sha256);
    const rows = samples.map((one) => ({ study_id, trial_id, fidelity, ...one }));
    return { changes: adds("samples", rows.map(withoutUndefined)) };
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { problem: `Cannot read the samples file ${path} as it is gone` }
      : { problem: (error as Error).message.replaceAll(resolve(root) + sep, "") };
  }
}
