/** Why a job does not begin, in words that a person reads. */
import type { Slots } from "./engine.ts";
import { attemptOf, type Job, type KnownEngine, type Queue } from "./queue_state.ts";
import { fits, lacking } from "./slots.ts";

export interface Wait {
  readonly reason: string;
  /** It does not pass by itself, or only once another job is over. */
  readonly blocked: boolean;
  /** When it passes, in milliseconds since 1970; null: nobody knows. */
  readonly until: number | null;
}

export function blocked(reason: string): Wait {
  return { reason, blocked: true, until: null };
}

/** A wait that passes by itself. */
export function passing(reason: string, until: number | null = null): Wait {
  return { reason, blocked: false, until };
}

function dependency(queue: Queue, { job_id, met }: { job_id: string; met: boolean }): Wait | null {
  const other = queue.jobs.get(job_id)!;
  if (other.state === "failed") return blocked(`${job_id} failed: ${other.reason}`);
  if (other.state === "cancelled") return blocked(`${job_id} was cancelled`);
  if (other.state !== "done") return blocked(`waits for ${job_id}`);
  if (!met) return null;
  const { success } = other.asked;
  const without = other.verdicts.findIndex((verdict) => verdict !== "met");
  if (without < 0) return null;
  const text = success[without]!.text;
  const verdict = other.verdicts[without];
  if (verdict === "not_met") return blocked(`${job_id} did not meet "${text}"`);
  return verdict === "undecided"
    ? blocked(`${job_id} left undecided whether it meets "${text}"`)
    : blocked(`waits until it is judged whether ${job_id} meets "${text}"`);
}

/** Whether an engine could run a job at all, once its slots are free. */
export function couldHold(engine: KnownEngine, job: Job): boolean {
  return (job.asked.engine === null || job.asked.engine === engine.name) &&
    fits(job.slots, engine.largest);
}

function noEngine(queue: Queue, job: Job): Wait | null {
  for (const engine of queue.engines.values()) if (couldHold(engine, job)) return null;
  const all = [...queue.engines.values()];
  const seen = all.filter(({ machine, down }) => down === null || machine !== "unknown");
  const { engine: name } = job.asked;
  if (name !== null && !queue.engines.has(name)) {
    const names = all.map(({ name }) => name).sort().join(", ");
    return blocked(`engine "${name}" is not here${names === "" ? "" : `: there is ${names}`}`);
  }
  const asked = name === null ? seen : seen.filter((one) => one.name === name);
  if (asked.length === 0) {
    return passing(name === null ? "no engine has answered yet" : downOf(all));
  }
  const lacks = asked.map(({ largest }) => lacking(job.slots, largest));
  const least = lacks.sort((a, b) => a.length - b.length)[0]!;
  return blocked(`no machine here has ${least}`);
}

function downOf(engines: readonly KnownEngine[]): string {
  return engines.flatMap(({ name, down }) =>
    down === null ? [] : [`engine ${name} does not answer: ${down.reason}`]
  ).join("; ");
}

function clock(time: number, now: number): string {
  const [day, minute] = new Date(time).toISOString().slice(0, 16).split("T") as [string, string];
  return new Date(now).toISOString().startsWith(day) ? `${minute} UTC` : `${day} ${minute} UTC`;
}

/** What keeps a job from slots that were free; null: nothing does. */
export function notReady(queue: Queue, job: Job, now: number): Wait | null {
  if (job.held !== null) return blocked(`held: ${job.held}`);
  if (job.missing !== null) return blocked(job.missing);
  for (const after of job.asked.after) {
    const wait = dependency(queue, after);
    if (wait !== null) return wait;
  }
  const none = noEngine(queue, job);
  if (none !== null) return none;
  const { not_before } = job;
  if (not_before === null || not_before <= now) return null;
  return passing(`waits until ${clock(not_before, now)} to try again: ${job.reason}`, not_before);
}

/** No engine that could hold the job answers. */
export function allDown(queue: Queue, job: Job): Wait {
  return passing(downOf([...queue.engines.values()].filter((engine) => couldHold(engine, job))));
}

/** Who holds slots of an engine, in words; empty: nobody. */
export function holdersOn(queue: Queue, engine: KnownEngine, of: "cpu" | "gpu"): string {
  const holders = [...queue.under_way.values()].filter((job) => {
    const attempt = attemptOf(job)!;
    return attempt.engine === engine.name && attempt.slots[of] > 0;
  }).map(({ job_id }) => job_id);
  if (engine.others[of] > 0) holders.push("others");
  return holders.join(", ");
}

/** Its slots are taken: by `holders` of threads or cards. */
export function noSlot(
  asked: Slots,
  { name, total }: KnownEngine,
  free: Slots,
  holders: (of: "cpu" | "gpu") => string,
): Wait {
  const cards = asked.gpu > free.gpu;
  const memory = !cards && asked.cpu <= free.cpu;
  if (memory) return passing(`no memory free on ${name}: ${asked.memory_gb} GB are asked`);
  const of = cards ? "gpu" : "cpu";
  const who = holders(of);
  return passing(
    `no ${cards ? "card" : "slot"} free: ${total[of] - free[of]} of ${total[of]} ` +
      `${cards ? "cards" : "CPU"} taken${who === "" ? "" : ` by ${who}`}`,
  );
}
