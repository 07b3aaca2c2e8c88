import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { runPaths } from "../../store/store_paths.ts";

/** How far a study is mirrored. Places are those of its records. */
export const Progress = z.strictObject({
  from: z.int().describe("where the study's first record begins"),
  offset: z.int().describe("every record of it before this place is on the server"),
  points: z.int().default(0)
    .describe("so many points of the record at that place are there, too"),
  report_due: z.boolean().describe("it is closed and its report is not on the server yet"),
});
export type Progress = z.infer<typeof Progress>;

const Targets = z.record(z.string().describe("server and experiment"), Progress);
const RunFile = z.strictObject({ version: z.literal(2), targets: Targets });

/** Of stores of schema 65 and before: one file for all studies. */
const StoreFile = z.strictObject({
  version: z.literal(1),
  targets: z.record(z.string(), z.record(z.string().describe("study"), Progress)),
});

/** Server and experiment as the file names them; holds no secret. */
export function targetName(shown: string, experiment: string): string {
  return `${shown} ${experiment}`;
}

/** Where it is written down how far a study is mirrored. */
export function mirrorFile(root: string, study_id: string): string {
  return join(runPaths(root, study_id).folder, "mlflow.json");
}

/** What a file holds; null where it is not there. A damaged one means sending again, which changes nothing there. */
function readJson<T>(path: string, schema: z.ZodType<T>): T | null {
  try {
    const read = schema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

function targetsOf(root: string, study_id: string): z.infer<typeof Targets> {
  const own = readJson(mirrorFile(root, study_id), RunFile);
  if (own !== null) return own.targets;
  const old = readJson(join(root, "mlflow.json"), StoreFile)?.targets ?? {};
  return Object.fromEntries(
    Object.entries(old).flatMap(([target, studies]) => {
      const progress = studies[study_id];
      return progress === undefined ? [] : [[target, progress]];
    }),
  );
}

/** How far a study of a store is mirrored to a target; undefined: not at all. */
export function readProgress(
  root: string,
  target: string,
  study_id: string,
): Progress | undefined {
  return targetsOf(root, study_id)[target];
}

/** Writes it down, on disk when this returns. */
export function writeProgress(
  root: string,
  target: string,
  study_id: string,
  progress: Progress,
): void {
  const path = mirrorFile(root, study_id);
  const targets = { ...targetsOf(root, study_id), [target]: progress };
  writeWhole(path, { version: 2, targets });
}
