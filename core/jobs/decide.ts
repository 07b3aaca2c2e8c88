/**
 * What is to happen to a queue. Each turn asks `decide` until it gives nothing more: first what was seen
 * is settled, then jobs are planned on what that left.
 */
import type { JobEvent } from "./events.ts";
import { momentText } from "./moments.ts";
import { type Begin, planLine, type Save } from "./plan.ts";
import { attemptOf, type Queue } from "./queue_state.ts";
import { type Observed, settle } from "./settle.ts";

function planned({ job, engine, passes }: Begin, at: string): JobEvent {
  const tried = job.attempts.length;
  const turn = job.priority === "P0" ? "P0 begins at once" : "its turn, and its slots are free";
  const reason = tried === 0 ? turn : `goes on, attempt ${tried + 1}: ${job.reason}`;
  return {
    ...{ type: "attempt_planned", at, job_id: job.job_id, attempt: tried + 1, reason },
    ...{ engine: engine.name, machine: engine.machine, slots: job.slots, passes: [...passes] },
  };
}

function saved({ job, for_job }: Save, at: string): JobEvent {
  const { number: attempt } = attemptOf(job)!;
  const reason = `makes room for ${for_job.job_id}`;
  return {
    ...{ type: "save_asked", at, job_id: job.job_id, attempt, reason, for_job: for_job.job_id },
  };
}

/**
 * The events to append now. Pure: the same queue, observations and time give the same ones; and once they
 * are appended, the next ones; none where nothing is left to decide. Without observations jobs are planned
 * on what the queue knows.
 */
export function decide(queue: Queue, seen: Observed | null, now: number): JobEvent[] {
  const settled = seen === null ? [] : settle(queue, seen, now);
  if (settled.length > 0) return settled;
  const { begins, saves } = planLine(queue, now, null);
  if (begins.length + saves.length === 0) return [];
  const at = momentText(now);
  return [...saves.map((one) => saved(one, at)), ...begins.map((one) => planned(one, at))];
}
