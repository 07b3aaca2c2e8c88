import { openArtifactStore } from "../artifacts/artifact_store.ts";
import { findHome } from "../home.ts";
import { keptArtifacts } from "../kept_artifacts.ts";
import { openStore } from "../store/store.ts";
import { bytes } from "../view/format.ts";
import { parseBytes } from "./parse_values.ts";

/** `pare gc`: removes artifacts that can be made again, never a front's or a report's. */
export async function gcCommand(options: { store?: string; maxDisk: string }): Promise<void> {
  const maxBytes = parseBytes(options.maxDisk, "--max-disk");
  const home = findHome(Deno.env.toObject(), options.store);
  await using store = await openStore(home.store, { write: false });
  using artifacts = await openArtifactStore(home.artifacts);
  const report = await artifacts.gc({ maxBytes, keep: await keptArtifacts(store) });
  for (const { artifact_id, bytes: size } of report.removed) {
    console.log(`removed ${artifact_id} (${bytes(size)})`);
  }
  console.log(`${bytes(report.total_bytes)} of artifacts are left`);
}
