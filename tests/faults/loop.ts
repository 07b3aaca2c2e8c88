/** What a loop of faults is. A file in `loops/` exports one; `faults.ts` runs them. */

/** What was injected at a point, as the runner prints it and the table counts it. */
export interface Injected {
  /** The file, stream or message that was hit, relative to the store. */
  file: string;
  /** The call, byte or event, with what was done to it: "fsync 3: EIO for ever". */
  call: string;
  /** Survivable: must finish with equal results. Hopeless: must refuse in a sentence. */
  kind: "survivable" | "hopeless";
}

/** One seed's walk through a loop; disposed when the budget ends or the loop is complete. */
export interface Walk extends AsyncDisposable {
  /** Points of this seed, where that is known before the last one was met. */
  points?: number;
  /** Injects at point `n` (from 0), recovers by the product's own start, checks the invariants.
   * Undefined: the workload ended without meeting an injection, so the loop is complete.
   * Throws where an invariant is broken; the message names what was read and what was due. */
  at(n: number): Promise<Injected | undefined>;
}

export interface Loop {
  /** Its name in `--at LOOP:SEED:N` and in the table. */
  name: string;
  /** One line for the table: what is injected into what. */
  about: string;
  /** Names of `sometimes` that a complete walk must have reached. */
  reaches: readonly string[];
  /** Prepares what every point begins with in `folder`, which is empty and the loop's own. */
  open(seed: number, folder: string): Promise<Walk>;
}

const reached = new Map<string, number>();

/** Counts that a rare state was reached: a suite that never reached it has proved nothing of it. */
export function sometimes(name: string): void {
  reached.set(name, (reached.get(name) ?? 0) + 1);
}

/** How often each state was reached in this process so far. */
export function reachedStates(): ReadonlyMap<string, number> {
  return reached;
}

/** An invariant that is broken, with what was injected before: the runner prints both. */
export class Broken extends Error {
  override name = "Broken";

  constructor(readonly injected: Injected, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Does the work of a point; what it throws says what was injected. */
export async function injecting(injected: Injected, work: () => unknown): Promise<Injected> {
  try {
    await work();
    return injected;
  } catch (error) {
    throw new Broken(injected, error);
  }
}
