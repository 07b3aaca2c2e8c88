import {
  type Estimate,
  estimateOf,
  type Eta,
  type Job,
  jobPrice,
  type ListedJob,
  listQueue,
  type Priority,
  type Queue,
} from "../../../core/mod.ts";
import { endOf } from "../attempt/attempt_state.ts";
import { readProgress } from "./queue_files.ts";
import { attemptFolder, type QueuePaths } from "../../store/queue/queue_paths.ts";

/** A job as people read it, whoever shows it. */
export interface QueueRow {
  readonly job_id: string;
  readonly title: string;
  readonly priority: Priority;
  readonly section: "running" | "queued" | "blocked" | "ended";
  readonly state: string;
  /** Why it stands where it does. */
  readonly reason: string;
  /** Its place in the line of its priority, from 1; 0: it is not in line. */
  readonly place: number;
  readonly study_id: string;
  readonly store: string;
  readonly model_name: string;
  readonly dataset: string;
  readonly kind: string;
  readonly engine: string | null;
  readonly machine: string | null;
  readonly attempt: number;
  /** Share that is done, from 0 to 1; null: nobody can know. */
  readonly progress: number | null;
  readonly progress_said: string | null;
  readonly submitted_at: string;
  readonly begins_at: string | null;
  readonly ends_at: string | null;
  /** In two of three cases its end lies between these; null: no job of its kind and size was measured. */
  readonly ends_between: readonly [string, string] | null;
  /** What a whole one takes, and how that is known. */
  readonly estimate_seconds: number;
  readonly estimate_source: Estimate["source"];
  /** What its attempts have cost up to now, in the currency of engines.yaml; null: no price is said. */
  readonly price: number | null;
  /** Of its success criteria, in their order. */
  readonly criteria: readonly { readonly text: string; readonly verdict: string | null }[];
}

const iso = (time: number): string => new Date(time).toISOString();

function times(eta: Eta | null) {
  if (eta === null) return { begins_at: null, ends_at: null, ends_between: null };
  const { begins, ends, between } = eta;
  return {
    begins_at: iso(begins),
    ends_at: iso(ends),
    ends_between: between === null ? null : [iso(between[0]), iso(between[1])] as const,
  };
}

function common(queue: Queue, { store }: QueuePaths, job: Job, now: number) {
  const { job_id, asked, priority, state, work, submitted, attempts, verdicts } = job;
  const { seconds, source } = estimateOf(queue, job);
  const word = (name: string) => String(work[name] ?? "");
  const last = attempts.at(-1);
  return {
    ...{ job_id, title: asked.title, priority, state, submitted_at: iso(submitted) },
    ...{ study_id: word("study_id"), store, model_name: word("model_name") },
    ...{ dataset: word("dataset"), kind: word("kind"), attempt: last?.number ?? 0 },
    ...{ engine: last?.engine ?? asked.engine, machine: last?.machine ?? null },
    ...{ estimate_seconds: seconds, estimate_source: source, price: jobPrice(job, now) },
    criteria: asked.success.map(({ text }, at) => ({ text, verdict: verdicts[at] ?? null })),
  };
}

/** Share that each job under way has done, by its own program. */
function progressOf(queue: Queue, paths: QueuePaths): Map<string, number> {
  const shares = new Map<string, number>();
  for (const { job_id, attempts } of queue.under_way.values()) {
    const share = readProgress(attemptFolder(paths, job_id, attempts.at(-1)!.number))?.share;
    if (share !== null && share !== undefined) shares.set(job_id, share);
  }
  return shares;
}

/** All that is not over, in the sections in which people read it, then what has ended, the newest first. */
export function queueRows(queue: Queue, paths: QueuePaths, now: number): QueueRow[] {
  const shares = progressOf(queue, paths);
  const list = listQueue(queue, now, shares);
  const row = (section: QueueRow["section"], { job, attempt, wait, eta }: ListedJob): QueueRow => {
    const folder = attempt === null ? null : attemptFolder(paths, job.job_id, attempt.number);
    const said = folder === null ? null : readProgress(folder)?.said ?? null;
    const over = folder !== null && endOf(folder) !== null;
    const place = attempt === null ? queue.lines[job.priority].indexOf(job) + 1 : 0;
    return {
      ...common(queue, paths, job, now),
      ...{ section, place, reason: wait?.reason ?? job.reason, ...times(over ? null : eta) },
      progress: over ? null : shares.get(job.job_id) ?? null,
      progress_said: over ? "it has ended, as the next who runs the queue writes down" : said,
    };
  };
  const ended = [...queue.jobs.values()].filter(({ ended }) => ended !== null)
    .sort((a, b) => b.ended! - a.ended!);
  return [
    ...list.running.map((one) => row("running", one)),
    ...list.queued.map((one) => row("queued", one)),
    ...list.blocked.map((one) => row("blocked", one)),
    ...ended.map((job): QueueRow => ({
      ...common(queue, paths, job, now),
      ...{ section: "ended", place: 0, reason: job.reason, progress: null, progress_said: null },
      ...{ begins_at: null, ends_at: iso(job.ended!), ends_between: null },
    })),
  ];
}
