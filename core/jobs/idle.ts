import { PATIENCE_SECONDS } from "./instructions.ts";
import { planLine } from "./plan.ts";
import type { Job, Queue } from "./queue_state.ts";

/** Whether an engine that may run a job answers, or may soon do so again. */
function isServed(queue: Queue, { asked }: Job, now: number): boolean {
  return [...queue.engines.values()].some(({ name, down }) =>
    (asked.engine === null || asked.engine === name) &&
    (down === null || now - down.since < 1000 * PATIENCE_SECONDS)
  );
}

/**
 * Nothing is under way, and nothing that waits could begin by itself: what is blocked does not, nor what
 * waits for an engine that has not answered for five minutes. Slots that others give back are waited for.
 */
export function isIdle(queue: Queue, now: number): boolean {
  if (queue.under_way.size + queue.left_behind.size > 0) return false;
  let passes = false;
  planLine(queue, now, (job, wait) => passes ||= !wait.blocked && isServed(queue, job, now));
  return !passes;
}
