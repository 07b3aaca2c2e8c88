import type { Registry } from "../../../core/mod.ts";
import type { BackendClient } from "../../../python-backends/client.ts";
import type { ArtifactStore } from "../../artifacts/artifact_store.ts";
import type { FolderCache } from "../../artifacts/folder_cache.ts";
import type { Home } from "../../ground/home.ts";
import type { Store } from "../../store/store.ts";

/** The tools that every study of a lab shares. */
export interface Tools {
  readonly home: Home;
  readonly registry: Registry;
  readonly client: BackendClient;
  readonly artifacts: ArtifactStore;
  readonly caches: FolderCache;
  /** Hash of an environment's pins, for keys and provenance. */
  readonly environmentHash: (name: string) => Promise<string>;
  /** Now, as ISO 8601. */
  readonly timestamp: () => string;
  /** Bytes that artifacts may fill; null = no limit. */
  readonly maxDiskBytes: number | null;
}

/** The tools while a study runs: its store is open for writing. */
export interface Workshop extends Tools {
  readonly store: Store;
}
