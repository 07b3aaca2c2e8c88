import { type Artifact, UsageError } from "../../../core/mod.ts";
import type { ArtifactStore } from "../artifact_store.ts";
import { homeId, useShared } from "./collect.ts";
import { isPath, shareGiven } from "./given.ts";
import { type ObjectStore, openObjectStore } from "./object_store.ts";
import { madeElsewhere, pullArtifact, pushArtifact } from "./transfer.ts";

/** The variable that names the object store of all machines that work together. */
export const SHARED_BY = "PARE_ARTIFACTS";

/** Sends an artifact with the weights that it is a setting of; gives what was moved in all. */
export async function pushWhole(
  objects: ObjectStore,
  artifacts: ArtifactStore,
  artifact: Artifact,
) {
  const weights = await artifacts.weightsOf(artifact);
  if (weights === null) {
    throw new UsageError(
      `Cannot send ${artifact.artifact_id} as the weights that it belongs to, ` +
        `${artifact.weights_id}, are gone`,
    );
  }
  const own = await pushArtifact(objects, artifact);
  if (weights.artifact_id === artifact.artifact_id) return own;
  const more = await pushArtifact(objects, weights);
  return { artifact, bytes: own.bytes + more.bytes, sent: own.sent + more.sent };
}

/**
 * Artifacts of this machine that fetch what it lacks from the object store and send there what is made
 * here. Where that does not answer, all goes on without it, and `note` hears why, once for each reason.
 */
export function sharedArtifacts(
  artifacts: ArtifactStore,
  objects: ObjectStore,
  note: (line: string) => void,
): ArtifactStore {
  const said = new Set<string>();
  const without = async <T>(work: () => Promise<T | null>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!said.has(why)) note(why);
      said.add(why);
      return null;
    }
  };
  const uses = (id: string) => useShared(objects, id, homeId(artifacts.root));
  const fetch = async (id: string) => {
    await uses(id); // before: what is used is not removed meanwhile
    return await pullArtifact(objects, artifacts, id);
  };
  return {
    ...artifacts,
    async find(action_key) {
      const here = await artifacts.find(action_key);
      if (here !== null) return here;
      return await without(async () => {
        const id = await madeElsewhere(objects, action_key);
        if (id !== null) await fetch(id);
        return id === null ? null : await artifacts.find(action_key);
      });
    },
    async get(id) {
      return await artifacts.get(id) ??
        await without(async () => (await fetch(id))?.artifact ?? null);
    },
    async commit(directory, meta) {
      const artifact = await artifacts.commit(directory, meta);
      await without(async () => {
        await uses(artifact.artifact_id);
        return await pushWhole(objects, artifacts, artifact);
      });
      return artifact;
    },
  };
}

/** The same where an object store is named, by a variable of the environment; else as they are. */
export function sharedWhereNamed(
  artifacts: ArtifactStore,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal | undefined,
): ArtifactStore {
  const objects = sharedStore(env, signal);
  return objects === null ? artifacts : sharedArtifacts(artifacts, objects, toTerminal);
}

const toTerminal = (line: string): void => console.error(`note: ${line}`);

/** The object store that the environment names; null: none. */
function sharedStore(
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal | undefined,
): ObjectStore | null {
  const address = env[SHARED_BY];
  if (address === undefined || address === "") return null;
  return openObjectStore(address, env, signal === undefined ? {} : { signal });
}

/** Sends what a study names and lies here, and fetches what does not, where an object store is named. */
export async function shareNamed(
  artifacts: ArtifactStore,
  named: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): Promise<void> {
  const paths = named.filter(isPath);
  if (paths.length === 0) return;
  try {
    const objects = sharedStore(env, signal);
    const { checksums: checksumsOf } = artifacts;
    if (objects === null) return;
    const home = homeId(artifacts.root);
    await shareGiven(objects, paths, { checksumsOf, home, note: toTerminal });
  } catch (error) {
    toTerminal(error instanceof Error ? error.message : String(error)); // such as keys that lack here
  }
}
