import { type Attempt, EngineError, type Slots } from "../../../core/jobs/engine.ts";
import { readAsked, writeRequest } from "../attempt/attempt_folder.ts";
import { endOf } from "../attempt/attempt_state.ts";
import { readLease } from "../attempt/lease.ts";
import { lacks } from "./slots.ts";

/**
 * Writes down what a cluster is to run. Gives whether that is over already, as it has begun or was taken
 * back: then nothing more is submitted.
 *
 * @throws EngineError where no machine of the cluster has its slots.
 */
export function takeOn(engine: string, attempt: Attempt, largest: Slots): boolean {
  const { id, folder, slots } = attempt;
  const lacking = lacks(slots, largest);
  if (lacking !== null) {
    throw new EngineError(
      "refused",
      `Cannot run ${id} on ${engine}: it needs ${lacking} that its largest machine has`,
    );
  }
  writeRequest(attempt);
  return endOf(folder) !== null || readLease(folder) !== null || readAsked(folder) === "cancel";
}

/** Why what has this attempt's name on an engine is not this attempt: it works in another folder. */
export function ofAnotherStore(engine: string, { id }: Attempt, folder: string): EngineError {
  return new EngineError(
    "refused",
    `Cannot submit ${id} to ${engine} as a job of that name is there for ${folder}: one of both stores is a ` +
      "copy of the other with its queue; remove the folder queue/ of the copy",
  );
}
