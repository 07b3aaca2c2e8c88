/**
 * What may go of an object store that several homes share. Each home writes an empty object for every artifact
 * that its studies send or fetch; one that another home uses stays, whatever this one says.
 */
import { join } from "node:path";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";
import { type Given, givenId, nameOf, readGiven } from "./given.ts";
import { type Manifest, MANIFEST_BYTES, names, readManifest } from "./manifest.ts";
import type { ObjectStore } from "./object_store.ts";
import { whileCollecting } from "./sending.ts";
import { heldThere, madeElsewhere } from "./transfer.ts";

/** By which a home's uses are told from another's; made where there is none yet. */
export function homeId(artifacts_root: string): string {
  const path = join(artifacts_root, "home.json");
  const known = readWhole<{ id: string }>(path)?.id;
  if (known !== undefined && /^[0-9a-f-]{36}$/.test(known)) return known;
  const id = crypto.randomUUID();
  writeWhole(path, { id });
  return id;
}

/** Says that a home uses an artifact there. */
export async function useShared(
  objects: ObjectStore,
  artifact_id: string,
  home: string,
): Promise<void> {
  await objects.put(names.use(artifact_id, home), new Uint8Array());
}

interface CollectOptions {
  /** Whose uses end where its stores keep the artifact no more. */
  readonly home: string;
  /** Artifacts that this home's stores keep. */
  readonly keep: ReadonlySet<string>;
  /** Whether they keep the model or dataset at a path. */
  readonly keepGiven: (path: string) => boolean;
  /** Whether what no home says that it uses may go. */
  readonly unclaimed: boolean;
  readonly dry_run: boolean;
}

interface Collected {
  readonly removed: readonly { artifact_id: string; bytes: number }[];
  /** Models and datasets. */
  readonly given: readonly { path: string; bytes: number }[];
  /** Bytes of the artifacts that are left. */
  readonly left_bytes: number;
  /** What stays by whom. */
  readonly kept: { readonly here: number; readonly elsewhere: number; readonly unclaimed: number };
  /** Parts that no artifact, model or dataset there has. */
  readonly parts: number;
}

async function usesThere(objects: ObjectStore): Promise<Map<string, Set<string>>> {
  const uses = new Map<string, Set<string>>();
  for (const name of await objects.list("uses/")) {
    const [, id, home] = /^uses\/([0-9a-f]{16}|[0-9a-f]{64})\/([0-9a-f-]{36})$/.exec(name) ?? [];
    if (id !== undefined && home !== undefined) {
      uses.set(id, (uses.get(id) ?? new Set()).add(home));
    }
  }
  return uses;
}

/** Every manifest that is whole; one that cannot be read ends it, as its parts are not known. */
async function manifestsThere(objects: ObjectStore): Promise<Map<string, Manifest>> {
  const manifests = new Map<string, Manifest>();
  for (const id of await heldThere(objects)) {
    const bytes = await objects.get(names.manifest(id), MANIFEST_BYTES);
    if (bytes !== null) manifests.set(id, readManifest(bytes, id, objects.address));
  }
  return manifests;
}

const bytesOf = ({ files }: Pick<Given, "files">): number =>
  files.reduce((sum, file) => sum + file.bytes, 0);

const chunksOf = ({ chunks }: Pick<Manifest, "chunks">): string[] =>
  Object.values(chunks).flatMap((parts) => parts.map(([hash]) => hash));

async function remove(objects: ObjectStore, { artifact }: Manifest, home: string) {
  const { artifact_id, action_key } = artifact;
  if (await madeElsewhere(objects, action_key) === artifact_id) {
    await objects.remove(names.made(action_key));
  }
  await objects.remove(names.manifest(artifact_id)); // before its parts: what has a manifest is whole
  await objects.remove(names.use(artifact_id, home));
}

/** Removes what no home uses any more, then the parts that nothing there has. */
export function collectShared(objects: ObjectStore, options: CollectOptions): Promise<Collected> {
  const { home, keep, keepGiven, unclaimed, dry_run } = options;
  const work = async (): Promise<Collected> => {
    const manifests = await manifestsThere(objects);
    const uses = await usesThere(objects);
    const given = await readGiven(objects);
    const ours = given.filter(({ path }) => keepGiven(path)).map(({ path }) => givenId(path));
    const own = new Set([...keep, ...ours]);
    const kept = { here: 0, elsewhere: 0, unclaimed: 0 };
    const isKept = (id: string): boolean => {
      const users = uses.get(id) ?? new Set();
      const why = own.has(id)
        ? "here"
        : [...users].some((one) => one !== home)
        ? "elsewhere"
        : users.size === 0 && !unclaimed
        ? "unclaimed"
        : null;
      if (why !== null) kept[why]++;
      return why !== null;
    };
    const stays = new Set([...manifests.keys()].filter(isKept));
    const left_given = given.filter(({ path }) => isKept(givenId(path)));
    const lost = given.filter((one) => !left_given.includes(one));
    // A setting is of no use without its weights.
    for (const id of [...stays]) stays.add(manifests.get(id)!.artifact.weights_id ?? id);
    const going = [...manifests].filter(([id]) => !stays.has(id)).map(([, one]) => one);
    const held = new Set(
      [...[...manifests].filter(([id]) => stays.has(id)).map(([, one]) => one), ...left_given]
        .flatMap(chunksOf),
    );
    const parts = (await objects.list("objects/")).filter((name) => !held.has(name.slice(-64)));
    if (!dry_run) {
      for (const id of uses.keys()) {
        if (!own.has(id) && uses.get(id)!.has(home)) await objects.remove(names.use(id, home));
      }
      for (const one of going) await remove(objects, one, home);
      for (const { path } of lost) await objects.remove(nameOf(path)); // before its parts
      for (const name of parts) await objects.remove(name);
    }
    const sized = [...manifests].map(([artifact_id, { artifact: { files } }]) => ({
      artifact_id,
      bytes: bytesOf({ files }),
    }));
    const removed = sized.filter(({ artifact_id }) => !stays.has(artifact_id));
    const left = sized.filter(({ artifact_id }) => stays.has(artifact_id));
    const left_bytes = left.reduce((sum, { bytes }) => sum + bytes, 0);
    const gone = lost.map((one) => ({ path: one.path, bytes: bytesOf(one) }));
    return { removed, given: gone, left_bytes, kept, parts: parts.length };
  };
  return dry_run ? work() : whileCollecting(objects, work);
}
