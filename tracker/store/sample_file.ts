import { createHash } from "node:crypto";
import { join, normalize } from "node:path";
import { SampleResult, WireNumber } from "../../core/mod.ts";
import { adds, type Change } from "./change.ts";

interface SamplesWritten {
  study_id: string;
  trial_id: string;
  fidelity: "proxy" | "full";
  path: string;
  sha256: string;
}

function parseSample(line: string): SampleResult {
  const raw = JSON.parse(line) as Record<string, unknown>; // checked below
  const number = (value: unknown): unknown => value === null ? null : WireNumber.parse(value);
  return SampleResult.parse({
    ...raw,
    score: number(raw["score"]),
    log_likelihood: number(raw["log_likelihood"] ?? null),
  });
}

/** The per-sample results in a worker's file: JSON Lines, NaN as the string "NaN". */
export function parseSamples(text: string): SampleResult[] {
  return text.split("\n").filter((line) => line.trim() !== "").map((line, index) => {
    try {
      return parseSample(line);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`line ${index + 1} is no sample: ${reason.slice(0, 200)}`);
    }
  });
}

/** The rows of a samples file, or why there are none: gone, changed since, or not readable. */
export async function sampleChanges(
  root: string,
  record: SamplesWritten,
): Promise<{ changes: Change[] } | { problem: string }> {
  const { study_id, trial_id, fidelity, path, sha256 } = record;
  const inside = normalize(path);
  if (inside.startsWith("..") || inside.startsWith("/")) {
    return { problem: `samples file ${path} lies outside the store` };
  }
  try {
    const bytes = await Deno.readFile(join(root, inside));
    const found = createHash("sha256").update(bytes).digest("hex");
    if (found !== sha256) {
      return { problem: `samples file ${path} was changed: sha256 is ${found}` };
    }
    const samples = parseSamples(new TextDecoder().decode(bytes));
    return {
      changes: adds("samples", samples.map((one) => ({ study_id, trial_id, fidelity, ...one }))),
    };
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound ? "is gone" : (error as Error).message;
    return { problem: `samples file ${path} ${reason}` };
  }
}
