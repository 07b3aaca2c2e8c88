/**
 * Watches the disk that a store lies on. Where it is nearly full, what `pare gc` may take is removed, once an
 * attempt, unless a job runs on another machine; where that is not enough, what runs is saved, and waits until a person has made room.
 */
import { attemptOf, type Job, type JobEvent, type Queue } from "../../../core/mod.ts";
import { attemptFolder, type QueuePaths } from "../../store/queue/queue_paths.ts";
import { livesHere, readLease } from "../attempt/lease.ts";
import { freeBytes, LEAST_BYTES, NEARLY_FULL } from "./disk_room.ts";

/** How room is made: `collect` removes as many bytes as it may, and gives how many. */
export interface RoomOptions {
  readonly collect: (bytes: number) => Promise<number>;
  readonly least_bytes?: number;
}

const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;

function collectedFor({ actions, attempts }: Job): boolean {
  return actions.some(({ condition, remedy, attempt }) =>
    condition === NEARLY_FULL && remedy === "collected" && attempt === attempts.length
  );
}

function running({ under_way }: Queue): Job[] {
  return [...under_way.values()].filter((job) =>
    job.state === "running" && attemptOf(job)!.stop === null && job.asked.may_be_saved
  );
}

/** Jobs whose checklist found the disk full, and that nobody has looked at since. */
function blocked({ lines }: Queue): Job[] {
  return Object.values(lines).flat().filter((job) =>
    job.held === null && job.missing?.startsWith(NEARLY_FULL) === true && !collectedFor(job)
  );
}

/** Whether a job runs on another machine: what its processes use there is not seen here. */
function isElsewhere(paths: QueuePaths, { job_id, attempts }: Job): boolean {
  const lease = readLease(attemptFolder(paths, job_id, attempts.length));
  return lease !== null && livesHere(lease) === null;
}

/** What is done where the disk is nearly full; nothing: it is not, or all has been done. */
export async function watchDisk(
  paths: QueuePaths,
  queue: Queue,
  { collect, least_bytes = LEAST_BYTES }: RoomOptions,
): Promise<JobEvent[]> {
  const [runs, waits] = [running(queue), blocked(queue)];
  if (runs.length + waits.length === 0) return [];
  const { store } = paths;
  const free = freeBytes(store);
  if (free >= least_bytes) return [];
  const elsewhere = [...queue.under_way.values()].some((job) => isElsewhere(paths, job));
  const acted = (job: Job, remedy: "collected" | "paused", evidence: string): JobEvent => ({
    ...{ type: "acted", at: new Date().toISOString(), job_id: job.job_id },
    ...{ attempt: job.attempts.length, condition: NEARLY_FULL, evidence, remedy },
    limit: remedy === "collected" ? "once an attempt" : null,
  });
  const first = [...runs.filter((job) => !collectedFor(job)), ...waits];
  if (first.length > 0 && !elsewhere) {
    const gone = await collect(least_bytes - free);
    const now = freeBytes(store);
    const evidence =
      `${gb(free)} free for ${store}; ${gb(gone)} were removed as \`pare gc\` does: ` +
      `${gb(now)} are free now`;
    const at = new Date().toISOString();
    const released = now < least_bytes ? [] : waits.map(({ job_id }): JobEvent => ({
      ...{ type: "released", at, job_id },
    }));
    return [...first.map((job) => acted(job, "collected", evidence)), ...released];
  }
  const why = elsewhere
    ? "nothing is removed while jobs run on other machines, which may use it"
    : "nothing more may be removed";
  const evidence = `${gb(free)} free for ${store}; ${why}`;
  return runs.flatMap((job): JobEvent[] => {
    const { number } = attemptOf(job)!;
    const key = { at: new Date().toISOString(), job_id: job.job_id, attempt: number };
    const reason = `${NEARLY_FULL}: ${evidence}`;
    return [acted(job, "paused", evidence), { type: "save_asked", ...key, reason, for_job: null }];
  });
}
