/** What is written of an artifact beside its objects, and how it is read from whoever wrote it. */
import { z } from "zod";
import { Artifact, UsageError } from "../../../core/mod.ts";
import { artifactId, MANIFEST } from "../artifact_files.ts";

/** Bytes of an object at most: what is lost where a transfer is cut off, and held in memory. */
export const CHUNK_BYTES = 16 << 20;
/** Bytes of a manifest at most. */
export const MANIFEST_BYTES = 64 << 20;

const Chunk = z.tuple([
  z.string().regex(/^[0-9a-f]{64}$/).describe("SHA-256 of what it holds"),
  z.int().positive().max(CHUNK_BYTES).describe("bytes"),
]);

export const Chunks = z.record(z.string(), z.array(Chunk)).describe(
  "by a file's path: its parts in order",
);

const Manifest = z.strictObject({
  version: z.literal(1),
  artifact: Artifact,
  chunks: Chunks,
});
export type Manifest = z.infer<typeof Manifest>;

export const names = {
  manifest: (artifact_id: string) => `artifacts/${artifact_id}.json`,
  /** Which artifact an action made: its id. */
  made: (action_key: string) => `made/${action_key}.json`,
  /** That a home uses an artifact. */
  use: (artifact_id: string, home: string) => `uses/${artifact_id}/${home}`,
  chunk: (sha256: string) => `objects/${sha256.slice(0, 2)}/${sha256}`,
};

/** A path that stays inside the folder it is below, on every system. */
export function isInside(path: string): boolean {
  return path.split("/").every((part) => part !== "" && !/^\.+$/.test(part)) &&
    !/[\\\0:]/.test(path) && path !== MANIFEST;
}

/** Why a manifest cannot be used; null: it is that of the artifact, whole and in itself consistent. */
function wrong({ artifact, chunks }: Manifest, artifact_id: string): string | null {
  const { files } = artifact;
  if (artifact.artifact_id !== artifact_id || artifactId(files) !== artifact_id) {
    return "its files are those of another artifact";
  }
  const outside = files.find(({ path }) => !isInside(path));
  if (outside !== undefined) return `it names a file outside its folder: ${outside.path}`;
  const cut = files.find(({ path, bytes }) =>
    (chunks[path] ?? []).reduce((sum, [, size]) => sum + size, 0) !== bytes
  );
  return cut === undefined ? null : `the parts of ${cut.path} are not its ${cut.bytes} bytes`;
}

/** Reads what somebody wrote into the object store; nothing of it is taken on trust. */
export function readManifest(bytes: Uint8Array, artifact_id: string, where: string): Manifest {
  const refuse = (why: string) =>
    new UsageError(
      `Cannot take artifact ${artifact_id} from ${where}: ${why}; push it there again`,
    );
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw refuse("its manifest is no JSON");
  }
  const read = Manifest.safeParse(document);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw refuse(`its manifest: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const why = wrong(read.data, artifact_id);
  if (why !== null) throw refuse(why);
  return read.data;
}
