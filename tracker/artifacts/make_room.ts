import type { ArtifactStore } from "./artifact_store.ts";
import type { FormReport } from "./form_garbage.ts";
import type { GarbageOptions, GarbageReport } from "./garbage.ts";
import type { FolderCache } from "./folder_cache.ts";

/**
 * Removes what can be made again until artifacts and their cached forms together fit `maxBytes`:
 * forms first, as an artifact took longer.
 */
export async function makeRoom(
  { artifacts, caches }: { artifacts: ArtifactStore; caches: FolderCache },
  { maxBytes, ...options }: GarbageOptions,
): Promise<{ artifacts: GarbageReport; forms: FormReport }> {
  const { total_bytes } = await artifacts.gc({ maxBytes: Infinity, keep: [], dryRun: true });
  const forms = await caches.gc(Math.max(0, maxBytes - total_bytes), options.dryRun);
  const room = Math.max(0, maxBytes - forms.total_bytes);
  return { artifacts: await artifacts.gc({ maxBytes: room, ...options }), forms };
}
