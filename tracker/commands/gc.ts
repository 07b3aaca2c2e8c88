import { openArtifactStore } from "../artifacts/artifact_store.ts";
import { openGraphCache } from "../artifacts/graph_cache.ts";
import { makeRoom } from "../artifacts/make_room.ts";
import { findHome } from "../home.ts";
import { keptArtifacts } from "../kept_artifacts.ts";
import { openStore } from "../store/store.ts";
import { bytes } from "../view/format.ts";
import { parseBytes } from "./parse_values.ts";

/**
 * `pare gc`: removes artifacts that can be made again, never a front's or a report's; before them the
 * GGUF files and graphs that runtimes loaded.
 */
export async function gcCommand(options: { store?: string; maxDisk: string }): Promise<void> {
  const maxBytes = parseBytes(options.maxDisk, "--max-disk");
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  using artifacts = await openArtifactStore(home.artifacts);
  const caches = openGraphCache(home.cache);
  const keep = await keptArtifacts(store);
  const { artifacts: report, forms } = await makeRoom({ artifacts, caches }, { maxBytes, keep });
  for (const { kind, key, bytes: size } of forms.removed) {
    console.log(`removed ${kind} ${key} (${bytes(size)})`);
  }
  for (const { artifact_id, bytes: size } of report.removed) {
    console.log(`removed ${artifact_id} (${bytes(size)})`);
  }
  console.log(
    `${bytes(report.total_bytes)} of artifacts are left, ${bytes(forms.total_bytes)} of cached ` +
      "GGUF files and graphs",
  );
}
