/** What is done about jobs without a person, while their queue is driven. */
import { attemptOf, type JobEvent, type Queue } from "../../../core/mod.ts";
import type { QueueDisk } from "../../store/queue/queue_disk.ts";
import { attemptFolder, type QueuePaths } from "../../store/queue/queue_paths.ts";
import { keepStacks } from "./keep_stacks.ts";
import { type RoomOptions, watchDisk } from "./watch_disk.ts";
import { watchProgress } from "./watch_progress.ts";

/** Whether the attempt that an event is about still runs, and nobody asked for its end meanwhile. */
function isOpen({ under_way }: Queue, event: JobEvent): boolean {
  if (!("attempt" in event)) return false;
  const job = under_way.get(event.job_id);
  const attempt = job === undefined ? null : attemptOf(job);
  return attempt?.number === event.attempt && attempt.stop === null;
}

export interface WatchOptions {
  readonly room: RoomOptions;
  /** How long a job's log and progress may stand still. */
  readonly quiet_ms?: number;
}

/** Looks at jobs again and again, acts, and writes down what it did; gives the events of one look. */
export function watchJobs(
  paths: QueuePaths,
  disk: QueueDisk,
  { room, quiet_ms }: WatchOptions,
): (queue: Queue) => Promise<JobEvent[]> {
  const progress = watchProgress(paths, quiet_ms);
  const stuck = async (queue: Queue): Promise<JobEvent[]> => {
    const seen: JobEvent[] = [];
    for (const event of progress(queue, Date.now())) {
      if (event.type !== "acted") seen.push(event);
      else {
        // Before it is stopped. They may go into the log that did not change: that is no progress.
        const kept = await keepStacks(attemptFolder(paths, event.job_id, event.attempt));
        seen.push({ ...event, evidence: `${event.evidence}; ${kept}` });
      }
    }
    let events: JobEvent[] = [];
    if (seen.length > 0) {
      await disk.transact((queue) => events = seen.filter((event) => isOpen(queue, event)));
    }
    return events;
  };
  return async (queue) => {
    const events = await stuck(queue);
    const made = await watchDisk(paths, queue, room);
    if (made.length > 0) await disk.transact(() => made);
    return [...events, ...made];
  };
}
