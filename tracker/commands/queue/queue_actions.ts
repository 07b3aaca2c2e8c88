import {
  cancelJob,
  holdJob,
  type JobEvent,
  jobNamed,
  moveJob,
  type Priority,
  type Queue,
  releaseJob,
  tellAnyway,
} from "../../../core/mod.ts";
import { queueRows } from "../../jobs/queue/queue_rows.ts";
import { queuePlace } from "./queue_place.ts";

interface StoreOption {
  store?: string;
}

/** Appends what a person asked for, and says how the job stands then. */
async function ask(
  { store }: StoreOption,
  job_id: string,
  events: (queue: Queue, at: string) => JobEvent[],
): Promise<void> {
  const { disk, paths } = queuePlace(store);
  jobNamed(disk.current(), job_id); // an unknown one is refused before a queue is made
  const queue = await disk.transact((queue) => events(queue, new Date().toISOString()));
  const row = queueRows(queue, paths, Date.now()).find((one) => one.job_id === job_id)!;
  const place = row.place === 0 ? "" : `, place ${row.place} of ${row.priority}`;
  console.log(`${job_id}: ${row.state}${place} (${row.reason})`);
}

export async function moveCommand(
  job: string,
  { priority, before, ...at }: StoreOption & { priority?: Priority; before?: string },
): Promise<void> {
  const to = { priority: priority ?? null, before: before ?? null };
  await ask(at, job, (queue, at) => moveJob(queue, job, to, at));
}

export async function holdCommand(job: string, reason: string, at: StoreOption): Promise<void> {
  await ask(at, job, (queue, at) => holdJob(queue, job, reason, at));
}

export async function releaseCommand(
  job: string,
  { anyway = false, ...at }: StoreOption & { anyway?: boolean },
): Promise<void> {
  await ask(at, job, (queue, at) => [
    ...releaseJob(queue, job, at),
    ...anyway ? tellAnyway(queue, job, at) : [],
  ]);
}

export async function cancelCommand(job: string, at: StoreOption): Promise<void> {
  await ask(at, job, (queue, at) => cancelJob(queue, job, "asked for by a person", at));
}
