/** What a job takes of a machine, and holds as long as it runs. */
export interface Slots {
  /** Threads. */
  readonly cpu: number;
  /** Whole cards. */
  readonly gpu: number;
  /** Gigabytes of main memory; null: nobody said. */
  readonly memory_gb: number | null;
}

/** One attempt at a job, as an engine is given it. */
export interface Attempt {
  /** Letters, digits and dashes, at most 63: unique over all queues that share the engine. */
  readonly id: string;
  /** From 1; the pair of id and attempt is started once. */
  readonly attempt: number;
  /** The program and its words; no shell reads them. */
  readonly argv: readonly string[];
  /** The attempt's own: what was asked, its lease, log and result. */
  readonly folder: string;
  /** Variables besides those of the engine. They are written to no file of ours. */
  readonly env: Readonly<Record<string, string>>;
  readonly slots: Slots;
  /** When it is asked to end in good order, and ended where it does not; null: never. */
  readonly seconds: number | null;
}

/** The attempt's folder: what an engine must keep of it lies there, for whoever drives it next. */
export type Handle = string;

/** How an attempt stands as its engine sees it: a hint. What its folder holds decides. */
export type EngineState =
  | { readonly state: "queued"; readonly reason: string | null }
  | { readonly state: "running" }
  | {
    readonly state: "ended";
    readonly how: "exit" | "signal" | "cancelled" | "lost";
    /** The exit code, or the signal's number. */
    readonly code: number | null;
    /** What the engine says of it, where that is more. */
    readonly reason?: string;
  }
  /** The engine knows no such attempt, or gave no answer about it. */
  | { readonly state: "unknown"; readonly reason: string };

/** What an engine can hold at once, and what is free of it. */
export interface Capacity {
  readonly total: Slots;
  readonly free: Slots;
  /** The largest that one machine of it holds: no job may ask for more. */
  readonly largest: Slots;
  /** Kind of machine, for hours and comparisons: `cpu-2x-xeon`, `a100-80gb`. */
  readonly machine: string;
  /** Of all its slots, in the user's currency; absent: nobody said. */
  readonly price_per_hour?: number;
}

/** Why an engine did not do what it was asked. */
export class EngineError extends Error {
  override name = "EngineError";
  constructor(
    /** `down`: it may answer later. `refused`: it never will to this; the message says what to do. */
    readonly kind: "down" | "refused",
    message: string,
  ) {
    super(message);
  }
}

/** What runs jobs. Every call may be repeated, and ends with an EngineError where it was not done. */
export interface Engine {
  readonly name: string;
  /** Its only machine is this one: an address of this machine is the same there. */
  readonly here?: true;
  /** The object store by which its machines share artifacts; absent: they see one folder, or share none. */
  artifacts?: string;
  /** What each worker of a study takes; absent: a card where there are any, else equal parts of the threads. */
  worker?: Slots;
  /**
   * Sees, before anything is submitted, that jobs can run there, below a folder. Gives what it could not
   * see. Null: it is only asked whether it is there, and runs nothing.
   */
  check?(folder: string | null): Promise<string | null>;
  /** Once an id and attempt are submitted, again gives the same handle and starts nothing. */
  submit(attempt: Attempt): Promise<Handle>;
  /** All in one question. */
  states(handles: readonly Handle[]): Promise<ReadonlyMap<Handle, EngineState>>;
  /** The attempt's log from an offset in bytes: a piece, never whole. */
  logs(handle: Handle, from: number): Promise<{ bytes: Uint8Array; next: number; more: boolean }>;
  /** Asks the attempt to end in good order, so that a later one goes on from there. */
  save(handle: Handle): Promise<void>;
  /** A card that an attempt had is gone: it is given to nobody any more. Absent: its cluster sees to that. */
  avoid?(handle: Handle): void;
  /** Asks for its end; it is over once `states` says so. */
  cancel(handle: Handle): Promise<void>;
  capacity(): Promise<Capacity>;
  /** Handles of an attempt that the engine knows, one a store that uses its name: for an answer that was lost. */
  find(id: string, attempt: number): Promise<Handle[]>;
}
