import { foundAt } from "../../ground/storage/found_at.ts";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type JobEvent,
  kindOf,
  openQueue,
  type Queue,
  type RunRequest,
  type Slots,
  type Submission,
  submitJob,
} from "../../../core/mod.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { findHome } from "../../ground/home.ts";
import { sha256File } from "../../ground/storage/file_hash.ts";
import { checkStudy } from "../../lab/check_study.ts";
import { studyName } from "../../lab/find_study.ts";
import { codeCommit } from "../../lab/provenance.ts";
import { runPaths } from "../../store/store_paths.ts";
import { findDevices } from "../engines/local/devices.ts";
import { checkEngine } from "./check_engine.ts";
import { checkSubmitted } from "./check_submitted.ts";
import { readCriterion } from "./criteria.ts";
import { QueueDisk } from "../../store/queue/queue_disk.ts";
import { jobDocument, type QueuePaths, queuePaths } from "../../store/queue/queue_paths.ts";
import type { QueuedWork } from "./queued_work.ts";

/** How a study is put in line; what is not said is inferred. */
export interface QueueOptions {
  readonly submission_id?: string;
  readonly title?: string;
  readonly priority?: Submission["priority"];
  readonly after?: Submission["after"];
  /** Such as `accuracy drop decided <= 0.02`. */
  readonly success?: readonly string[];
  readonly engine?: string;
  /** A file of engines; default: engines.yaml in PARE_HOME. */
  readonly engines?: string;
  /** Default: a card where there is one, with its share of the CPU, else the whole CPU. */
  readonly slots?: Slots;
  readonly estimate_seconds?: number;
  readonly anyway?: boolean;
  /** Why it waits for a person. */
  readonly hold?: string;
}

/** Of a machine. A study times what it makes: on a CPU it has the machine alone. */
function usualSlots({ cpu, gpu }: Slots): Slots {
  return gpu === 0
    ? { cpu, gpu: 0, memory_gb: null }
    : { cpu: Math.max(1, Math.floor(cpu / gpu)), gpu: 1, memory_gb: null };
}

export interface Submitted {
  readonly job_id: string;
  readonly study_id: string;
  /** Why the engine that it names could not be asked; absent: it was. */
  readonly unseen?: string;
}

function enginesFile(): string {
  return join(findHome(Deno.env.toObject()).root, "engines.yaml");
}

/** Of a dataset that is a file; null: it is none. */
async function hashOf(dataset: string): Promise<string | null> {
  const path = resolve(dataset);
  return foundAt(path)?.isFile() === true ? await sha256File(path) : null;
}

/** What of a kind takes about as long: the model, what it is measured on, and how much is asked for. */
function sizeOf({ model_name, dataset, max_trials, budget_seconds }: RunRequest): string {
  const [model] = model_name.split("/").slice(-1);
  const limit = max_trials === undefined
    ? budget_seconds === undefined ? "" : `, ${budget_seconds} s`
    : `, ${max_trials} trials`;
  return `${model} on ${dataset}${limit}`;
}

function estimateOf(request: RunRequest, { estimate_seconds }: QueueOptions) {
  if (estimate_seconds !== undefined) {
    return { estimate_seconds, estimate_source: "said" as const };
  }
  const budget = request.budget_seconds;
  return budget === undefined
    ? { estimate_seconds: null, estimate_source: null }
    : { estimate_seconds: budget, estimate_source: "budget" as const };
}

/** A study's name that no run of the store and no job of the queue has. */
function freeName(queue: Queue, store: string, name: string): string {
  const queued = new Set([...queue.jobs.values()].map(({ work }) => work["study_id"]));
  const taken = (one: string) => queued.has(one) || existsSync(runPaths(store, one).folder);
  if (!taken(name)) return name;
  for (let n = 2;; n++) if (!taken(`${name}-${n}`)) return `${name}-${n}`;
}

/** The job of a submission that the queue has; null: it has none. */
function submittedBefore(queue: Queue, submission_id: string): Submitted | null {
  const job = queue.jobs.get(queue.submissions.get(submission_id) ?? "");
  return job === undefined ? null : { job_id: job.job_id, study_id: String(job.work["study_id"]) };
}

/**
 * Checks a study's document as `pare run` does and puts it in line. The same `submission_id` again adds
 * nothing.
 *
 * @throws UsageError where the document is wrong.
 */
export async function submitStudy(
  disk: QueueDisk,
  paths: QueuePaths,
  given: unknown,
  options: QueueOptions,
): Promise<Submitted> {
  const request = checkStudy(given, "study");
  await checkSubmitted(request);
  const { submission_id = crypto.randomUUID(), title, priority = "P1", after = [] } = options;
  const there = submittedBefore(disk.current(), submission_id);
  if (there !== null) return there;
  const { largest, unseen } = options.engine === undefined
    ? { largest: null, unseen: null }
    : await checkEngine(options.engine, options.slots, paths, options.engines ?? enginesFile());
  // What was given, not what defaults made of it: the study infers what is not said.
  writeWhole(jobDocument(paths, submission_id), given);
  const { model_name, dataset } = request;
  const kind = kindOf(request).name;
  const data_sha256 = await hashOf(dataset);
  const code_commit = await codeCommit();
  const submission: Omit<Submission, "work" | "study"> = {
    ...{ submission_id, priority, after: [...after] },
    slots: options.slots ?? usualSlots(largest ?? (await findDevices()).slots),
    title: title ?? `${kind} of ${model_name} on ${dataset}`,
    ...{ work_kind: kind, size: sizeOf(request), engine: options.engine ?? null },
    success: (options.success ?? []).map(readCriterion),
    ...estimateOf(request, options),
    ...{ may_be_saved: true, anyway: options.anyway ?? false },
  };
  const at = new Date().toISOString();
  const name = studyName(request, new Date());
  const queue = await disk.transact((queue) => {
    if (queue.submissions.has(submission_id)) return [];
    const study_id = freeName(queue, paths.store, name);
    const work: QueuedWork = {
      ...{ study_id, kind, model_name, dataset, data_sha256, code_commit, cwd: Deno.cwd() },
    };
    const queue_id = crypto.randomUUID().slice(0, 8);
    const submitted = submitJob(queue, { ...submission, work, study: study_id }, at);
    const held = submitted.flatMap((event): JobEvent[] =>
      event.type !== "submitted" || options.hold === undefined
        ? []
        : [{ type: "held", at, job_id: event.job_id, reason: options.hold }]
    );
    return [...openQueue(queue, queue_id, at), ...submitted, ...held];
  });
  return { ...submittedBefore(queue, submission_id)!, ...unseen === null ? {} : { unseen } };
}

/** The same by the store's folder alone. */
export function submitTo(store: string, given: unknown, options: QueueOptions): Promise<Submitted> {
  const paths = queuePaths(store);
  return submitStudy(new QueueDisk(paths.journal), paths, given, options);
}
