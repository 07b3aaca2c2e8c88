import { findHome } from "../../ground/home.ts";
import { QueueDisk } from "../../store/queue/queue_disk.ts";
import { type QueuePaths, queuePaths } from "../../store/queue/queue_paths.ts";

/** The queue beside a store. */
export interface QueuePlace {
  readonly store: string;
  readonly paths: QueuePaths;
  readonly disk: QueueDisk;
}

export function queuePlace(store: string | undefined): QueuePlace {
  const home = findHome(Deno.env.toObject(), store);
  const paths = queuePaths(home.store);
  return { store: home.store, paths, disk: new QueueDisk(paths.journal) };
}
