import { openArtifactStore } from "../artifacts/artifact_store.ts";
import type { GarbageReport } from "../artifacts/garbage.ts";
import { openFolderCache } from "../artifacts/folder_cache.ts";
import { makeRoom } from "../artifacts/make_room.ts";
import { UsageError } from "../../core/mod.ts";
import { findHome } from "../home.ts";
import { artifactClaims } from "../kept_artifacts.ts";
import { journalSize } from "../store/index/sink.ts";
import { storePaths } from "../store/store_paths.ts";
import { bytes } from "../view/number_text.ts";
import { parseBytes } from "./input/parse_values.ts";

interface GcOptions {
  store?: string;
  maxDisk: string;
  unclaimed?: boolean;
}

/**
 * `pare gc`: removes artifacts that can be made again, never a front's or a report's of any store that
 * has used them; before them the forms that runtimes loaded.
 */
export async function gcCommand(options: GcOptions): Promise<void> {
  const maxBytes = parseBytes(options.maxDisk, "--max-disk");
  const { unclaimed = false } = options;
  const home = findHome(Deno.env.toObject(), options.store);
  if (options.store !== undefined && journalSize(storePaths(home.store).journal) === 0) {
    throw new UsageError(`Cannot ask the store ${home.store} as nothing is recorded there`);
  }
  using artifacts = await openArtifactStore(home.artifacts);
  const caches = openFolderCache(home.cache);
  const also = [home.store, findHome(Deno.env.toObject()).store];
  const ask = () => artifactClaims(artifacts, also);
  const limits = { maxBytes, keep: [], ask, unclaimed };
  const { artifacts: report, forms } = await makeRoom({ artifacts, caches }, limits);
  for (const { kind, key, bytes: size } of forms.removed) {
    console.log(`removed ${kind} ${key} (${bytes(size)})`);
  }
  for (const { action_key, bytes: size } of report.removed_work) {
    console.log(
      `removed what a killed action had left, ${action_key.slice(0, 16)} (${bytes(size)})`,
    );
  }
  for (const { artifact_id, bytes: size } of report.removed) {
    console.log(`removed ${artifact_id} (${bytes(size)})`);
  }
  for (const line of keptLines(report)) console.log(line);
  console.log(
    `${bytes(report.total_bytes)} of artifacts are left, ${bytes(forms.total_bytes)} of cached ` +
      "forms of runtimes",
  );
}

/** What stays although it may be of no use to anybody, and what a user can do about it. */
function keptLines({ unsure, unclaimed, over }: GarbageReport): string[] {
  const lines = unsure.map(({ store, reason }) =>
    `kept all that the store ${store} used as ${reason}; where it is of no use any more: ` +
    `pare store forget ${store}`
  );
  if (over && unclaimed.artifacts > 0) {
    lines.push(
      `kept ${unclaimed.artifacts} artifacts (${
        bytes(unclaimed.bytes)
      }) that no store known here ` +
        "names: --store DIR asks one more, --unclaimed removes them",
    );
  }
  return lines;
}
