/**
 * When jobs begin and end, as far as anybody can say: each takes what `estimateOf` says, corrected by its
 * progress while it runs; and the line is gone through in its order, each job at the first time at which
 * an engine has its slots. Small jobs may pass a large one, so one may begin earlier than this says.
 */
import type { Slots } from "./engine.ts";
import { estimateOf, secondsLeft, secondsToCome } from "./estimate.ts";
import { attemptOf, type Job, type KnownEngine, type Queue } from "./queue_state.ts";
import { fits, minus, plus } from "./slots.ts";
import { couldHold } from "./waits.ts";

export interface Eta {
  /** Milliseconds since 1970; of a job under way: when it began, or its engine was asked. */
  readonly begins: number;
  readonly ends: number;
  /** The end as it is in two of three cases, as jobs of its kind and size differ; null: none was seen. */
  readonly between: readonly [number, number] | null;
}

/** Slots that are given back at a time. */
interface Back {
  readonly at: number;
  readonly slots: Slots;
}

/** An engine as its slots will be taken. */
class Lane {
  /** No later job in line begins before. */
  #from: number;
  #free: Slots;
  /** In the order of their times. */
  #back: Back[] = [];

  constructor(readonly engine: KnownEngine, now: number) {
    this.#from = now;
    this.#free = minus(minus(engine.total, engine.others), engine.used);
  }

  giveBack(back: Back): void {
    let place = this.#back.length;
    while (place > 0 && this.#back[place - 1]!.at > back.at) place--;
    this.#back.splice(place, 0, back);
  }

  /** The first time with so many slots, and how many give theirs back until then; null: never. */
  #first(slots: Slots): { at: number; backs: number; free: Slots } | null {
    let [free, at, backs] = [this.#free, this.#from, 0];
    while (!fits(slots, free)) {
      const back = this.#back[backs];
      if (back === undefined) return null;
      free = plus(free, back.slots);
      at = Math.max(at, back.at);
      backs++;
    }
    return { at, backs, free };
  }

  firstTime(slots: Slots): number {
    return this.#first(slots)?.at ?? Infinity;
  }

  /** Takes slots at the first time from `ready` on; gives it. */
  take(slots: Slots, ready: number, seconds: number): number {
    const { at, backs, free } = this.#first(slots)!;
    this.#from = at;
    this.#back.splice(0, backs);
    this.#free = minus(free, slots);
    const begins = Math.max(at, ready);
    this.giveBack({ at: begins + 1000 * seconds, slots });
    return begins;
  }
}

function etaOf(
  queue: Queue,
  job: Job,
  begins: number,
  left: { from: number; seconds: number },
): Eta {
  const ends = left.from + 1000 * left.seconds;
  const { spread } = estimateOf(queue, job);
  if (spread === null) return { begins, ends, between: null };
  const factor = Math.exp(spread);
  const at = (seconds: number) => left.from + 1000 * seconds;
  return { begins, ends, between: [at(left.seconds / factor), at(left.seconds * factor)] };
}

/** When a job may begin as far as it depends on others and on time; null: nobody knows. */
function readyAt(
  queue: Queue,
  job: Job,
  etas: ReadonlyMap<string, Eta>,
  now: number,
): number | null {
  if (job.held !== null || job.missing !== null) return null;
  let ready = Math.max(now, job.not_before ?? now);
  for (const { job_id, met } of job.asked.after) {
    const other = queue.jobs.get(job_id)!;
    const over = other.state === "done" && (!met || other.verdicts.every((one) => one === "met"));
    if (over) continue;
    const eta = etas.get(job_id);
    if (eta === undefined) return null;
    ready = Math.max(ready, eta.ends);
  }
  return ready;
}

/**
 * Of each job that is not over when it begins and ends; absent: nobody can say. `progress`: of jobs
 * under way, from 0 to 1.
 */
export function forecastQueue(
  queue: Queue,
  now: number,
  progress: ReadonlyMap<string, number>,
): Map<string, Eta> {
  const etas = new Map<string, Eta>();
  const lanes = [...queue.engines.values()].map((engine) => new Lane(engine, now));
  for (const job of queue.under_way.values()) {
    const attempt = attemptOf(job)!;
    const at = { now, progress: progress.get(job.job_id) ?? null };
    const seconds = secondsLeft(queue, job, attempt, at);
    etas.set(
      job.job_id,
      etaOf(queue, job, attempt.began ?? attempt.planned, { from: now, seconds }),
    );
    const lane = lanes.find(({ engine }) => engine.name === attempt.engine);
    lane?.giveBack({ at: now + 1000 * seconds, slots: attempt.slots });
  }
  for (const job of [...queue.lines.P0, ...queue.lines.P1, ...queue.lines.P2]) {
    if (job.state !== "waiting") continue;
    const ready = readyAt(queue, job, etas, now);
    const open = lanes.filter(({ engine }) => couldHold(engine, job));
    const times = open.map((lane) => lane.firstTime(job.slots));
    const first = Math.min(...times);
    if (ready === null || !Number.isFinite(first)) continue;
    const seconds = secondsToCome(queue, job);
    const begins = open[times.indexOf(first)]!.take(job.slots, ready, seconds);
    etas.set(job.job_id, etaOf(queue, job, begins, { from: begins, seconds }));
  }
  return etas;
}
