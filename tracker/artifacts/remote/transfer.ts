/**
 * Artifacts to an object store and back. Files go in parts named by their SHA-256: what is there already is
 * not sent again, and what was cut off goes on where it was, on either side.
 */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Artifact, UsageError } from "../../../core/mod.ts";
import { writeAll } from "../../../python-backends/whole_file.ts";
import { sha256Text } from "../../ground/storage/file_hash.ts";
import type { ArtifactStore } from "../artifact_store.ts";
import { CHUNK_BYTES, type Manifest, MANIFEST_BYTES, names, readManifest } from "./manifest.ts";
import { type ObjectStore, sha256 } from "./object_store.ts";
import { whileSending } from "./sending.ts";

/** What a transfer moved. */
export interface Moved {
  readonly artifact: Artifact;
  /** Bytes of the artifact's files. */
  readonly bytes: number;
  /** Of these, what went over the network. */
  readonly sent: number;
}

async function fill(file: Deno.FsFile, bytes: Uint8Array): Promise<number> {
  let at = 0;
  while (at < bytes.length) {
    const read = await file.read(bytes.subarray(at));
    if (read === null) break;
    at += read;
  }
  return at;
}

/** Sends the parts of a file that are not there; refused where it is not the file that was written. */
export async function pushFile(
  objects: ObjectStore,
  path: string,
  written: string,
): Promise<{ chunks: Manifest["chunks"][string]; sent: number }> {
  const chunks: Manifest["chunks"][string] = [];
  const whole = createHash("sha256");
  let sent = 0;
  using file = await Deno.open(path, { read: true });
  for (;;) {
    const bytes = new Uint8Array(CHUNK_BYTES);
    const size = await fill(file, bytes);
    if (size === 0) break;
    const part = bytes.subarray(0, size);
    const hash = sha256(part);
    const name = names.chunk(hash);
    if (await objects.size(name) !== size) {
      await objects.put(name, part);
      sent += size;
    }
    chunks.push([hash, size]);
    whole.update(part);
  }
  if (whole.digest("hex") === written) return { chunks, sent };
  throw new UsageError(`Cannot send ${path} as it is not the file that was written: make it again`);
}

export function json(document: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${JSON.stringify(document)}\n`);
}

/** Which artifact an action has made, for whoever is about to make it again. */
async function tellMade(
  objects: ObjectStore,
  { action_key, artifact_id }: Artifact,
): Promise<void> {
  await objects.put(names.made(action_key), json({ artifact_id }));
}

/** Sends an artifact; its manifest comes last, so that what has one is whole there. */
export async function pushArtifact(objects: ObjectStore, artifact: Artifact): Promise<Moved> {
  const { artifact_id, files, location } = artifact;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (await objects.size(names.manifest(artifact_id)) !== null) {
    await tellMade(objects, artifact);
    return { artifact, bytes, sent: 0 };
  }
  return await whileSending(objects, async () => {
    const chunks: Manifest["chunks"] = {};
    let sent = 0;
    for (const { path, sha256: written } of files) {
      const pushed = await pushFile(objects, join(location, path), written);
      chunks[path] = pushed.chunks;
      sent += pushed.sent;
    }
    const manifest: Manifest = { version: 1, artifact: { ...artifact, location: "." }, chunks };
    await objects.put(names.manifest(artifact_id), json(manifest));
    await tellMade(objects, artifact);
    return { artifact, bytes, sent };
  });
}

/** A part, held to its name; asked for once more where what came is another one. */
async function fetchChunk(
  objects: ObjectStore,
  [hash, size]: Manifest["chunks"][string][number],
): Promise<Uint8Array<ArrayBuffer>> {
  const name = names.chunk(hash);
  for (let tries = 0; tries < 2; tries++) {
    const bytes = await objects.get(name, size);
    if (bytes !== null && sha256(bytes) === hash) return bytes;
  }
  throw new UsageError(
    `Cannot fetch ${name} of ${objects.address}: it is gone, or holds other bytes than its name says; ` +
      "delete it and the manifest there and push the artifact again",
  );
}

/** Writes a file from its parts, but for those that an earlier try has written; gives bytes and SHA-256. */
export async function pullFile(
  objects: ObjectStore,
  path: string,
  chunks: Manifest["chunks"][string],
): Promise<{ sent: number; hash: string }> {
  using file = await Deno.open(path, { read: true, write: true, create: true });
  const whole = createHash("sha256");
  let [sent, at] = [0, 0];
  for (const chunk of chunks) {
    const [hash, size] = chunk;
    let bytes = new Uint8Array(size);
    await file.seek(at, Deno.SeekMode.Start);
    if (await fill(file, bytes) !== size || sha256(bytes) !== hash) {
      bytes = await fetchChunk(objects, chunk);
      await file.seek(at, Deno.SeekMode.Start);
      writeAll(file, bytes);
      sent += size;
    }
    whole.update(bytes);
    at += size;
  }
  await file.truncate(at);
  return { sent, hash: whole.digest("hex") };
}

/** Fetches the files of an artifact into a folder; gives the bytes that went over the network. */
async function pullFiles(
  objects: ObjectStore,
  folder: string,
  { artifact, chunks }: Manifest,
): Promise<number> {
  let sent = 0;
  for (const { path, sha256: written } of artifact.files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    const pulled = await pullFile(objects, join(folder, path), chunks[path] ?? []);
    if (pulled.hash !== written) {
      throw new UsageError(
        `Cannot take artifact ${artifact.artifact_id} from ${objects.address}: the parts of ${path} are ` +
          "those of another file; push it there again",
      );
    }
    sent += pulled.sent;
  }
  return sent;
}

/** Fetches an artifact, and the weights that it is a setting of; null: there is none of this id. */
export async function pullArtifact(
  objects: ObjectStore,
  artifacts: ArtifactStore,
  artifact_id: string,
): Promise<Moved | null> {
  const text = await objects.get(names.manifest(artifact_id), MANIFEST_BYTES);
  if (text === null) return null;
  const manifest = readManifest(text, artifact_id, objects.address);
  const { artifact_id: _, location: __, files, size_bytes: ___, weights_id, ...meta } =
    manifest.artifact;
  if (weights_id !== undefined && await artifacts.get(weights_id) === null) {
    await pullArtifact(objects, artifacts, weights_id);
  }
  const work = await artifacts.workFolder(sha256Text(`fetch ${artifact_id}`));
  let keep = true; // what is fetched when it is cut off is not fetched again
  try {
    const folder = join(work.directory, "files");
    mkdirSync(folder, { recursive: true });
    const sent = await pullFiles(objects, folder, manifest);
    const artifact = await artifacts.commit(folder, meta);
    keep = false;
    return { artifact, bytes: files.reduce((sum, file) => sum + file.bytes, 0), sent };
  } finally {
    await work.release({ keep });
  }
}

/** The artifact that an action has made somewhere, by what the object store was told; null: nobody has. */
export async function madeElsewhere(
  objects: ObjectStore,
  action_key: string,
): Promise<string | null> {
  const bytes = await objects.get(names.made(action_key), 1024);
  if (bytes === null) return null;
  const [, id = null] = /^\{"artifact_id":"([0-9a-f]{16})"\}$/
    .exec(new TextDecoder().decode(bytes).trim()) ?? [];
  return id;
}

/** Ids of the artifacts that are whole there. */
export async function heldThere(objects: ObjectStore): Promise<string[]> {
  const found = await objects.list("artifacts/");
  return found.flatMap((name) => /^artifacts\/([0-9a-f]{16})\.json$/.exec(name)?.[1] ?? []);
}
