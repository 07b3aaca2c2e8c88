import type { Turn } from "./drive.ts";
import { PATIENCE_SECONDS } from "./instructions.ts";
import { planLine } from "./plan.ts";
import type { Job } from "./queue_state.ts";

/** Whether an engine that is here and may run a job answers, or may soon do so again. */
function isServed({ queue, seen }: Seen, { asked }: Job, now: number): boolean {
  return [...queue.engines.values()].some(({ name, down }) =>
    seen.engines.has(name) &&
    (asked.engine === null || asked.engine === name) &&
    (down === null || now - down.since < 1000 * PATIENCE_SECONDS)
  );
}

type Seen = Pick<Turn, "queue" | "seen">;

/**
 * Nothing is under way, and nothing that waits could begin by itself: what is blocked does not, nor what
 * waits for an engine that is not here or has not answered for five minutes. Slots that others give back are
 * waited for.
 */
export function isIdle(turn: Seen, now: number): boolean {
  const { queue } = turn;
  if (queue.under_way.size + queue.left_behind.size > 0) return false;
  let passes = false;
  planLine(queue, now, (job, wait) => passes ||= !wait.blocked && isServed(turn, job, now));
  return !passes;
}
