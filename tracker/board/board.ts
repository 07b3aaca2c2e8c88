import type { BoardQueue } from "./board_queue.ts";
import type { BoardStores } from "./board_stores.ts";
import type { JournalWatch } from "./follow.ts";

/** What every route of a board works with. */
export interface Board {
  readonly stores: BoardStores;
  readonly watch: JournalWatch;
  readonly queue: BoardQueue;
  /** Ends every stream of events. */
  readonly ending: AbortSignal;
}
