import { UsageError } from "../errors.ts";
import type { Facts } from "../schemas/facts.ts";
import type { RunRequest } from "../schemas/request.ts";
import { freeMemoryGb } from "../strategies/compatibility.ts";
import { requiredMemoryGb } from "./required_memory.ts";

/** The workers of a study that is set up, whose request says a number or nothing. */
export function setWorkers({ workers }: Pick<RunRequest, "workers">): number {
  return typeof workers === "number" ? workers : 1;
}

/** Cores of a worker where nobody says how many workers there are: most of a trial's work fills no more. */
const CORES_EACH = 4;

/**
 * How many trials of a study are to be under way at once. `auto`: one a GPU; on a CPU one for every four
 * cores, two at least where there are two cores, as far as memory holds their models.
 *
 * @throws UsageError where the machine has no room for as many as were asked for.
 */
export function workersOf({ workers = 1 }: Pick<RunRequest, "workers">, facts: Facts): number {
  const { device, cores, gpus = 1 } = facts.device;
  const places = device === "cuda" ? gpus : cores;
  const free = device === "cuda" ? Infinity : freeMemoryGb(facts) ?? Infinity;
  const held = Math.floor(free / requiredMemoryGb(facts));
  if (workers === "auto") {
    const sensible = device === "cuda" ? gpus : Math.max(2, Math.floor(cores / CORES_EACH));
    return Math.max(1, Math.min(sensible, places, held));
  }
  const refuse = (reason: string, most: number): never => {
    throw new UsageError(
      `Cannot run ${workers} workers as ${reason}: give --workers ${Math.max(1, most)} or less`,
    );
  };
  if (workers === 1) return 1;
  const kind = device === "cuda" ? "GPU" : "core";
  const there = `this machine has ${places} ${kind}${places === 1 ? "" : "s"}`;
  if (workers > places) refuse(`${there} and each takes one at least`, places);
  if (workers > held) {
    refuse(
      `each holds a model of about ${requiredMemoryGb(facts).toFixed(1)} GB and ` +
        `${free.toFixed(1)} GB are free`,
      held,
    );
  }
  return workers;
}

/** Threads of one of so many workers. */
export function threadsOf(workers: number, { device }: Pick<Facts, "device">): number {
  return Math.max(1, Math.floor(device.cores / workers));
}
