/** What stands between the decisions about jobs and the world. */
import type { Attempt } from "./engine.ts";
import type { JobEvent } from "./events.ts";
import type { Job, Queue } from "./queue_state.ts";

/** The queue's journal, which many processes append to. */
export interface JobDisk {
  /**
   * Under the queue's lock: reads what others appended, gives the queue as it is now, and appends what
   * comes back durably, all of it or nothing, before it resolves. `decide` reads the queue and may
   * throw, which appends nothing. Gives the queue with what was appended.
   */
  transact(decide: (queue: Queue) => readonly JobEvent[]): Promise<Queue>;
}

/** What an attempt left as its last word. */
export interface AttemptResult {
  /** `saved`: it ended in good order, and another attempt goes on from there. */
  readonly how: "done" | "failed" | "saved" | "cancelled";
  /** Of its process; null: a signal ended it. */
  readonly code: number | null;
  /** In words. */
  readonly reason: string;
  /** From its beginning to its end. */
  readonly seconds: number;
  /** It failed by what may pass, such as a full disk: it is tried again. */
  readonly passing: boolean;
}

/** What an attempt's folder says. */
export interface AttemptSeen {
  readonly result: AttemptResult | null;
  /**
   * `none`: nobody has begun. `fresh`: somebody holds it. `stale`: its holder is surely gone. `closed`:
   * nobody began, and nobody can any more.
   */
  readonly lease: "none" | "fresh" | "stale" | "closed";
  /** Share that is done, from 0 to 1; null: it told none. */
  readonly progress: number | null;
  /** When its program began, in milliseconds by its machine's clock; absent: nobody knows. */
  readonly began?: number;
  /** When it was over, or of one that is gone when it was last alive, by that clock; absent: nobody knows. */
  readonly ended?: number;
}

export interface AttemptKey {
  readonly job_id: string;
  readonly attempt: number;
}

/** The folders of attempts: what they say stands above what an engine says. */
export interface AttemptFiles {
  /**
   * Makes an attempt's folder with what is asked, and tells how it is run. May be repeated. In place of
   * an attempt a sentence, given or thrown as a UsageError: what this work lacks, such as `data
   * missing: qasper`.
   */
  prepare(
    job: Job,
    attempt: number,
    id: string,
  ): Promise<Omit<Attempt, "slots" | "seconds"> | string>;
  /** In the order of the keys. */
  look(keys: readonly AttemptKey[]): Promise<AttemptSeen[]>;
  /**
   * Takes the lease for nobody where nobody has taken it, so that a later start of this attempt ends at
   * once; yes: it is closed now. May be repeated.
   */
  close(key: AttemptKey): Promise<boolean>;
}
