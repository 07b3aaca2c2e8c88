import { UsageError } from "../../../core/mod.ts";
import { openArtifactStore } from "../../artifacts/artifact_store.ts";
import { openObjectStore } from "../../artifacts/remote/object_store.ts";
import { pushWhole } from "../../artifacts/remote/shared_artifacts.ts";
import { heldThere, pullArtifact } from "../../artifacts/remote/transfer.ts";
import { lastArtifact } from "../../exchange/conversion/convert_source.ts";
import { findHome } from "../../ground/home.ts";
import { bytes } from "../../show/view/number_text.ts";

const ID = /^[0-9a-f]{16}$/;

/** `pare push`: a trial's checkpoint, by content, to an object store. */
export async function pushCommand(
  name: string,
  address: string,
  options: { store?: string },
): Promise<void> {
  const env = Deno.env.toObject();
  const objects = openObjectStore(address, env);
  const home = findHome(env, options.store);
  const id = ID.test(name) ? name : (await lastArtifact(home, name, "push")).of.artifact_id;
  using artifacts = await openArtifactStore(home.artifacts);
  const artifact = await artifacts.get(id);
  if (artifact === null) {
    throw new UsageError(`Cannot push ${name} as the files of artifact ${id} are gone or cut`);
  }
  const moved = await pushWhole(objects, artifacts, artifact);
  console.log(
    `${id} (${bytes(moved.bytes)}) is in ${address}; ${bytes(moved.sent)} were sent\n` +
      `pare pull ${address} ${id} fetches it on another machine`,
  );
}

/** `pare pull`: a checkpoint from an object store, or what is there. */
export async function pullCommand(address: string, id: string | undefined): Promise<void> {
  const env = Deno.env.toObject();
  const objects = openObjectStore(address, env);
  if (id === undefined) {
    const ids = await heldThere(objects);
    return console.log(ids.length === 0 ? `${address} holds no artifacts` : ids.join("\n"));
  }
  if (!ID.test(id)) {
    throw new UsageError(
      `Cannot pull "${id}": give the id that \`pare push\` says, 16 hexadecimal digits`,
    );
  }
  using artifacts = await openArtifactStore(findHome(env).artifacts);
  const here = await artifacts.get(id);
  const moved = here === null
    ? await pullArtifact(objects, artifacts, id)
    : { artifact: here, bytes: here.files.reduce((sum, file) => sum + file.bytes, 0), sent: 0 };
  if (moved === null) {
    throw new UsageError(`Cannot pull ${id}: ${address} has no such artifact`);
  }
  console.log(
    `${id} (${bytes(moved.bytes)}) is in ${moved.artifact.location}; ${
      bytes(moved.sent)
    } were fetched`,
  );
}
