import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { SampleResult } from "../../core/mod.ts";

const SPECIAL: Record<string, number> = { NaN, Infinity, "-Infinity": -Infinity };

/** Fields that may hold a number which JSON cannot carry. */
const NUMBERS = ["score", "log_likelihood"] as const;

function parseLine(line: string, path: string, number: number): SampleResult {
  const row = JSON.parse(line) as Record<string, unknown>; // checked by the schema below
  for (const field of NUMBERS) {
    const value = row[field];
    if (typeof value === "string" && value in SPECIAL) row[field] = SPECIAL[value];
  }
  const parsed = SampleResult.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Error(
    `Cannot read ${path}, line ${number}: ${issue?.path.join(".")}: ${issue?.message}`,
  );
}

/** A worker's per-sample results; throws where the file is not the one that the worker hashed. */
export async function readSamples(path: string, sha256: string | null): Promise<SampleResult[]> {
  const content = await readFile(path);
  const found = createHash("sha256").update(content).digest("hex");
  if (sha256 !== null && found !== sha256) {
    throw new Error(`Cannot trust ${path} as its sha256 must be ${sha256}: it is ${found}`);
  }
  return content.toString("utf8").split("\n").flatMap((line, index) =>
    line.trim() === "" ? [] : [parseLine(line, path, index + 1)]
  );
}
