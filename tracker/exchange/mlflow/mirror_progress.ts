import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeJson } from "../../artifacts/artifact_files.ts";

/** How far a study is mirrored. Places are bytes of the journal. */
export const Progress = z.strictObject({
  from: z.int().describe("where the study's first record begins"),
  offset: z.int().describe("every record of it before this place is on the server"),
  points: z.int().default(0)
    .describe("so many points of the record at that place are there, too"),
  report_due: z.boolean().describe("it is closed and its report is not on the server yet"),
});
export type Progress = z.infer<typeof Progress>;

const MirrorFile = z.strictObject({
  version: z.literal(1),
  targets: z.record(
    z.string().describe("server and experiment"),
    z.record(z.string().describe("study"), Progress),
  ),
});

/** Server and experiment as the file names them; holds no secret. */
export function targetName(shown: string, experiment: string): string {
  return `${shown} ${experiment}`;
}

export function mirrorFile(root: string): string {
  return join(root, "mlflow.json");
}

/** The file's content. A lost or damaged one means sending again, which changes nothing there. */
function readTargets(root: string): z.infer<typeof MirrorFile>["targets"] {
  try {
    const read = MirrorFile.safeParse(JSON.parse(readFileSync(mirrorFile(root), "utf8")));
    return read.success ? read.data.targets : {};
  } catch {
    return {};
  }
}

/** How far each study of a store is mirrored to a target. */
export function readProgress(root: string, target: string): Map<string, Progress> {
  return new Map(Object.entries(readTargets(root)[target] ?? {}));
}

/** Writes it down, on disk when this resolves. */
export async function writeProgress(
  root: string,
  target: string,
  progress: ReadonlyMap<string, Progress>,
): Promise<void> {
  const targets = { ...readTargets(root), [target]: Object.fromEntries(progress) };
  await writeJson(mirrorFile(root), { version: 1, targets });
}
