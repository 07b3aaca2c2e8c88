import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Artifact, JournalRecord } from "../../core/mod.ts";
import { findHome } from "../ground/home.ts";
import { MANIFEST, readArtifact } from "./artifact_files.ts";

/**
 * Where the artifacts of a store may lie on this machine: beside it, as in a home, or in the user's own
 * home where the store lies elsewhere.
 */
function artifactFolders(store: string): string[] {
  return [join(dirname(store), "artifacts"), findHome(Deno.env.toObject()).artifacts];
}

/** Directory of the files of an artifact that a store names; where they would be, if they are gone. */
export async function placeOf(artifact_id: string, store: string): Promise<string> {
  const homes = artifactFolders(store).map((folder) => join(folder, artifact_id));
  const places = await Promise.all(
    homes.map(async (home) => (await readArtifact(join(home, MANIFEST), home))?.location ?? home),
  );
  return places.find((place) => existsSync(place)) ?? places[0]!;
}

/** An artifact that a store names, with the directory of its files on this machine. */
export async function placeArtifact(artifact: Artifact, store: string): Promise<Artifact> {
  const place = await placeOf(artifact.artifact_id, store);
  // Records of earlier versions say where it lay.
  const recorded = artifact.location !== "." && !existsSync(place) ? artifact.location : place;
  return { ...artifact, location: recorded };
}

/** Records as a store gives them, with the places of their artifacts on this machine. */
export async function placeRecords(
  records: readonly JournalRecord[],
  store: string,
): Promise<JournalRecord[]> {
  return await Promise.all(
    records.map(async (record) =>
      record.type === "artifact_written"
        ? { ...record, artifact: await placeArtifact(record.artifact, store) }
        : record
    ),
  );
}
