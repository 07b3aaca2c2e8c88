/**
 * What is to be done about attempts, from the queue and what was seen of them. Every instruction may be
 * done twice: whoever finds the queue after a crash gets the same ones.
 */
import type { EngineState } from "./engine.ts";
import { attemptOf, type Job, type JobAttempt, type Queue } from "./queue_state.ts";
import type { Observed, SeenAttempt } from "./settle.ts";

/** An engine that does not know an attempt may learn of it late, and one that is down may come back. */
export const PATIENCE_SECONDS = 300;
/** What an engine took on and did not do is asked again. */
const REPEAT_SECONDS = 120;
/** An attempt that was asked to save and has not is ended, so that nothing waits for it for ever. */
const SAVE_LIMIT_SECONDS = 900;

export interface Instruction {
  /**
   * `submit`: to its engine. `save`, `cancel`: ask its engine. `close`: take its lease for nobody.
   */
  readonly call: "submit" | "save" | "cancel" | "close";
  readonly job: Job;
  readonly attempt: JobAttempt;
}

/** Seconds from a time to now. */
function since(time: number, now: number): number {
  return (now - time) / 1000;
}

/** What an attempt that is to end needs. */
function stopCalls(
  attempt: JobAttempt,
  lease: "none" | "fresh",
  now: number,
): Instruction["call"][] {
  const { what, told, asked } = attempt.stop!;
  const due = attempt.handle !== null && (told === null || since(told, now) >= REPEAT_SECONDS);
  if (lease === "none") return due ? ["cancel", "close"] : ["close"];
  if (!due) return [];
  return [what === "save" && since(asked, now) < SAVE_LIMIT_SECONDS ? "save" : "cancel"];
}

/** Whether an attempt that nobody began will not begin any more, as far as its engine knows. */
function givenUp(
  queue: Queue,
  { engine, planned, handle }: JobAttempt,
  state: EngineState | null,
  now: number,
): boolean {
  const down = queue.engines.get(engine)?.down ?? null;
  if (down !== null && since(down.since, now) >= PATIENCE_SECONDS) return true;
  if (handle === null || state === null) return false;
  return state.state === "ended" ||
    state.state === "unknown" && since(planned, now) >= PATIENCE_SECONDS;
}

function callsFor(
  queue: Queue,
  attempt: JobAttempt,
  { files: { result, lease }, engine }: Pick<SeenAttempt, "files" | "engine">,
  now: number,
): Instruction["call"][] {
  if (result !== null || lease === "stale" || lease === "closed") return []; // settled next turn
  const unnamed = attempt.handle === null;
  const up = queue.engines.get(attempt.engine)?.down === null;
  if (lease === "fresh" && unnamed) return up ? ["submit"] : []; // its answer was lost
  if (attempt.stop !== null) return stopCalls(attempt, lease, now);
  if (lease === "fresh") return [];
  if (givenUp(queue, attempt, engine, now)) return ["close"];
  return unnamed && up ? ["submit"] : [];
}

const UNSEEN: Pick<SeenAttempt, "files" | "engine"> = {
  files: { result: null, lease: "none", progress: null },
  engine: null,
};

/** All that is to be done now. */
export function instructions(queue: Queue, seen: Observed, now: number): Instruction[] {
  const found: Instruction[] = [];
  for (const job of queue.left_behind.values()) {
    for (const attempt of job.attempts) {
      const up = attempt.left_behind && queue.engines.get(attempt.engine)?.down === null;
      if (up) found.push({ call: "cancel", job, attempt });
    }
  }
  for (const job of queue.under_way.values()) {
    const attempt = attemptOf(job)!;
    const one = seen.attempts.get(job.job_id);
    const known = one?.attempt === attempt.number ? one : UNSEEN;
    for (const call of callsFor(queue, attempt, known, now)) {
      found.push({ call, job, attempt });
    }
  }
  return found;
}
