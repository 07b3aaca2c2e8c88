/**
 * Watches that jobs get on. One whose log and progress have not changed for half an hour is stopped in
 * good order and goes on from there, once; where that does not help either it is left and told.
 */
import { readFileSync, statSync } from "node:fs";
import {
  attemptOf,
  type Job,
  type JobAttempt,
  type JobEvent,
  type Queue,
} from "../../../core/mod.ts";
import { attemptPaths } from "../attempt/attempt_folder.ts";
import { readLease } from "../attempt/lease.ts";
import { remains } from "../attempt/remains.ts";
import { attemptFolder, ownPaths, type QueuePaths } from "../../store/queue/queue_paths.ts";

const LIMIT_MS = 30 * 60_000;
/** How often a job's processor time is noted. */
const SAMPLE_MS = 60_000;
const CONDITION = "no progress";
/** Of a second, in which the kernel counts a process's work. */
const TICKS = 100;

function changed(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Seconds of processor that an attempt's processes have had; null: they are on another machine. */
function worked(folder: string): number | null {
  const lease = readLease(folder);
  const pids = lease === null ? [] : remains(lease.token);
  if (pids.length === 0) return null;
  return pids.reduce((sum, pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13)
        .map(Number);
      return sum + (user + system) / TICKS;
    } catch {
      return sum; // it has just ended
    }
  }, 0);
}

function lastSign({ began }: JobAttempt, folder: string): number {
  const { log } = attemptPaths(folder);
  return Math.max(began ?? 0, changed(log), changed(ownPaths(folder).progress));
}

/** What is done about a job that does not get on; nothing is done twice. */
function remedyFor({ asked, actions }: Job, { number }: JobAttempt): "restarted" | "told" | null {
  const done = actions.filter(({ condition }) => condition === CONDITION);
  const restarted = done.some(({ remedy }) => remedy === "restarted");
  if (asked.may_be_saved && !restarted) return "restarted";
  const told = done.some(({ remedy, attempt }) => remedy === "told" && attempt === number);
  return told ? null : "told";
}

/** Looks at jobs under way, again and again, and says what is done about those that do not get on. */
export function watchProgress(
  paths: QueuePaths,
  limit_ms = LIMIT_MS,
): (queue: Queue, now: number) => JobEvent[] {
  const before = new Map<string, { now: number; worked: number }>();
  const utilisation = (name: string, folder: string, now: number): string => {
    const seconds = worked(folder);
    if (seconds === null) return "its machine is another one, whose load is not seen here";
    const last = before.get(name) ?? { now: 0, worked: 0 };
    const busy = (seconds - last.worked) / Math.max(1, (now - last.now) / 1000);
    return `it kept ${busy.toFixed(1)} cores busy meanwhile`;
  };
  return (queue, now) =>
    [...queue.under_way.values()].flatMap((job): JobEvent[] => {
      const attempt = attemptOf(job)!;
      if (job.state !== "running" || attempt.stop !== null) return [];
      const folder = attemptFolder(paths, job.job_id, attempt.number);
      const name = `${job.job_id} ${attempt.number}`;
      const quiet = now - lastSign(attempt, folder);
      if (quiet < limit_ms) {
        const last = before.get(name)?.now ?? 0;
        if (now - last > SAMPLE_MS) before.set(name, { now, worked: worked(folder) ?? 0 });
        return [];
      }
      const remedy = remedyFor(job, attempt);
      if (remedy === null) return [];
      const evidence = `${CONDITION} for ${Math.round(quiet / 60_000)} min; ${
        utilisation(name, folder, now)
      }`;
      const of_attempt = {
        ...{ at: new Date(now).toISOString(), job_id: job.job_id, attempt: attempt.number },
      };
      const acted: JobEvent = {
        ...{ type: "acted", ...of_attempt, condition: CONDITION, evidence, remedy, limit: "once" },
      };
      if (remedy === "told") return [acted];
      const reason = `${evidence}: it is restarted, once`;
      return [acted, { type: "save_asked", ...of_attempt, reason, for_job: null }];
    });
}
