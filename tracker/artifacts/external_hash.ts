import { join } from "node:path";
import { z } from "zod";
import { FileChecksum } from "../../core/mod.ts";
import { writeWhole } from "../../python-backends/whole_file.ts";
import type { ArtifactPaths } from "./artifact_files.ts";
import { listFiles, sha256File } from "../ground/storage/file_hash.ts";

/** Hashes by path, size and time of change, so that a user's checkpoint is read whole only once. */
const Known = z.record(z.string(), z.strictObject({ stamp: z.string(), sha256: z.string() }));
type Known = z.infer<typeof Known>;

async function readKnown(path: string): Promise<Known> {
  try {
    return Known.parse(JSON.parse(await Deno.readTextFile(path)));
  } catch {
    return {}; // a cache: what is missing or damaged is computed again
  }
}

/** Checksums of the files of a model directory that is the user's: of all, or of those that are named. */
export async function hashExternal(
  paths: ArtifactPaths,
  directory: string,
  names?: readonly string[],
): Promise<FileChecksum[]> {
  const known = await readKnown(paths.hashes);
  const files: FileChecksum[] = [];
  let added = false;
  for (const path of names ?? await listFiles(directory, { hidden: false })) {
    const absolute = join(directory, path);
    const { size, mtime, ino } = await Deno.stat(absolute);
    const stamp = `${size} ${mtime?.getTime() ?? 0} ${ino ?? 0}`;
    const cached = known[absolute];
    const sha256 = cached?.stamp === stamp ? cached.sha256 : await sha256File(absolute);
    if (cached?.stamp !== stamp) added = true;
    known[absolute] = { stamp, sha256 };
    files.push({ path, bytes: size, sha256 });
  }
  if (added) writeWhole(paths.hashes, known);
  return files;
}
