/** What must hold in every state that a simulated queue comes to, told apart from the code that decides. */
import type { Slots } from "../../../../core/jobs/engine.ts";
import type { JobEvent } from "../../../../core/jobs/events.ts";
import { secondsToCome } from "../../../../core/jobs/estimate.ts";
import {
  attemptOf,
  type Job,
  type JobAttempt,
  type JobState,
  type Queue,
} from "../../../../core/jobs/queue_state.ts";
import { fits, minus, plus } from "../../../../core/jobs/slots.ts";
import { couldHold, notReady } from "../../../../core/jobs/waits.ts";
import { HOUR, MINUTE, type World } from "./world.ts";

const ALLOWED: Readonly<Record<JobState, readonly JobState[]>> = {
  waiting: ["submitted", "cancelled"],
  submitted: ["running", "saving", "cancelling", "waiting", "done", "failed", "cancelled"],
  running: ["saving", "cancelling", "waiting", "done", "failed", "cancelled"],
  saving: ["cancelling", "waiting", "done", "failed", "cancelled"],
  cancelling: ["cancelled", "done"],
  done: [],
  failed: ["waiting"],
  cancelled: [],
};

/** A P0 has its slots so long after it could take them: who does not save is ended after 15 minutes, by
 * an engine that may lose the order and be down, and leases go stale after. */
const P0_MINUTES = 45;
/** Eight programs at most go on so long after their budget is spent: until they are saved, or ended where
 * they do not save, by an engine that may be down and a core that may be dead for an hour. */
const BUDGET_SLACK_HOURS = 8 * 1.5;
const MOST_PASSES = 8;

/** A job before an event: its place is that in its line. */
interface Before {
  readonly state: JobState | undefined;
  readonly attempt: JobAttempt | null;
  readonly place: number;
  readonly stops: boolean;
}

type Of<T> = Extract<JobEvent, { type: T }>;

export class Rules {
  readonly #waits = new Map<string, number>();
  /** How often each job was passed since it last began. */
  readonly #passed = new Map<string, number>();

  constructor(readonly world: World) {}

  event(queue: Queue, event: JobEvent, before: Before): void {
    if (event.type === "queue_opened" && queue.queue_id !== event.queue_id) {
      this.world.fail("a queue was opened twice");
    }
    if (!("job_id" in event)) return;
    const job = queue.jobs.get(event.job_id)!;
    const { state } = before;
    if (state !== undefined && state !== job.state && !ALLOWED[state].includes(job.state)) {
      this.world.fail(`${job.job_id}: from ${state} to ${job.state} by ${event.type}`);
    }
    if (event.type === "save_asked" && event.for_job !== null && before.stops) {
      this.world.fail(`${job.job_id} is asked twice to make room`);
    }
    if (event.type === "attempt_planned") this.#planned(queue, job, event);
    if (event.type === "attempt_ended" && before.attempt?.number === event.attempt) {
      this.#ended(queue, job, before.attempt);
      this.#followed(queue, job, event, before.place);
    }
  }

  #planned(queue: Queue, job: Job, { engine, attempt, passes }: Of<"attempt_planned">): void {
    if (job.attempts.length !== attempt) return; // it came too late
    this.#passed.delete(job.job_id);
    for (const other of passes) {
      const times = (this.#passed.get(other) ?? 0) + 1;
      this.#passed.set(other, times);
      if (times === MOST_PASSES) this.world.sometimes("a job is passed as often as may be");
      if (times > MOST_PASSES) this.world.fail(`${other} was passed ${times} times`);
    }
    const { total, used, others } = queue.engines.get(engine)!;
    if (!fits(used, minus(total, others))) this.world.fail(`${engine} is given more than it has`);
    if (job.held !== null) this.world.fail(`${job.job_id} is held, and begins`);
    for (const { job_id } of job.asked.after) {
      const { state } = queue.jobs.get(job_id)!;
      if (state !== "done") {
        this.world.fail(`${job.job_id} begins after ${job_id}, which is ${state}`);
      }
    }
  }

  /** What comes after an attempt: the job's old place, or an end that it deserves. */
  #followed(queue: Queue, job: Job, { how, next }: Of<"attempt_ended">, place: number): void {
    const { job_id, retries, priority } = job;
    if (how === "refused" && !this.world.refused.has(job_id)) {
      this.world.fail(`${job_id}: an engine refused what it had taken`);
    }
    if (how === "lost" && next === "failed" && retries <= 3) {
      this.world.fail(`${job_id} has failed, and was lost ${retries} times`);
    }
    if (next === "again" && job.ended === null && queue.lines[priority][place] !== job) {
      this.world.fail(`${job_id} has lost its place in line`);
    }
  }

  #ended(queue: Queue, job: Job, { number }: JobAttempt): void {
    const { lease, result } = this.world.look(job.job_id, number);
    if (this.world.living(job.job_id)?.attempt === number) {
      this.world.fail(`${job.job_id}: attempt ${number} is given up while it works`);
    }
    if (result === null && lease === "none") {
      this.world.fail(`${job.job_id}: attempt ${number} is given up and may still begin`);
    }
    if (result?.how === "done" && job.state !== "done") {
      this.world.fail(`${job.job_id}: it is done, and ${job.state}`);
    }
    for (const { machine, hours } of queue.budgets) {
      let spent = 0;
      for (const [name, seconds] of this.world.worked) {
        if (machine === null || machine === name) spent += seconds / 3600;
      }
      if (spent > hours + BUDGET_SLACK_HOURS) {
        this.world.fail(`${spent.toFixed(1)} h are spent of ${hours.toFixed(1)}`);
      }
    }
  }

  /** Checks that no P0 waits for slots that it could have. Asked after each turn of a core that is up. */
  urgent(queue: Queue): void {
    const { now } = this.world;
    const open = new Set([...queue.engines.values()].filter(({ down }) => down === null));
    for (const job of queue.lines.P0) {
      const ready = job.state === "waiting" && notReady(queue, job, now) === null;
      const own = ready ? [...open].filter((engine) => couldHold(engine, job)) : [];
      const could = own.some(({ name }) => fits(job.slots, freed(queue, name)));
      for (const engine of own) open.delete(engine); // the first in line has the claim
      if (!could) this.#waits.delete(job.job_id);
      else this.#waits.set(job.job_id, this.#waits.get(job.job_id) ?? now);
      const since = this.#waits.get(job.job_id) ?? now;
      if (now - since > P0_MINUTES * MINUTE) {
        this.world.fail(`${job.job_id} is urgent and has waited for ${(now - since) / MINUTE} min`);
      }
    }
  }

  /** Nobody was there to decide. */
  pause(): void {
    this.#waits.clear();
  }
}

/** What a P0 could have of an engine: free, or held by what may be saved and stands below it. */
function freed(queue: Queue, name: string): Slots {
  const { total, used, others, machine } = queue.engines.get(name)!;
  if (queue.budgets.some((limit) => limit.machine === null || limit.machine === machine)) {
    return { cpu: -1, gpu: -1, memory_gb: 0 }; // its budget may forbid it
  }
  let free = minus(minus(total, others), used);
  for (const job of queue.under_way.values()) {
    const { engine, slots } = attemptOf(job)!;
    const gives = job.priority !== "P0" && job.asked.may_be_saved;
    if (engine === name && gives) free = plus(free, slots);
  }
  return free;
}

/** Looks at what one transaction did as a whole. */
export function checkAppended(world: World, queue: Queue, events: readonly JobEvent[]): void {
  for (const event of events) {
    if (event.type === "save_asked" && event.for_job !== null) checkVictim(world, queue, event);
    if (event.type === "attempt_planned") checkTurn(world, queue, event);
  }
}

/** No attempt that is worth less, and holds as much, was spared. */
function checkVictim(world: World, queue: Queue, { job_id }: Of<"save_asked">): void {
  const victim = queue.jobs.get(job_id)!;
  const attempt = attemptOf(victim)!;
  if (victim.priority === "P0") world.fail(`${job_id} is urgent, and is to make room`);
  for (const other of queue.under_way.values()) {
    const spared = attemptOf(other)!;
    const less = other.priority > victim.priority ||
      other.priority === victim.priority && spared.planned > attempt.planned;
    if (
      less && spared.stop === null && spared.engine === attempt.engine &&
      other.asked.may_be_saved && fits(attempt.slots, spared.slots)
    ) world.fail(`${job_id} makes room, and ${other.job_id} is spared`);
  }
}

/** No job of the same needs stands before one that begins; no P2 begins before what waits. */
function checkTurn(world: World, queue: Queue, { job_id, engine }: Of<"attempt_planned">): void {
  const job = queue.jobs.get(job_id)!;
  const machine = queue.engines.get(engine)!;
  const ready = (other: Job) =>
    other.state === "waiting" &&
    notReady(queue, other, world.now) === null &&
    !tooDear(queue, other);
  // While room is made P0s begin as they get theirs, each where it is soonest.
  const room = [...queue.under_way.values()].some((one) => attemptOf(one)!.stop !== null);
  const line = job.priority === "P0" && room ? [] : queue.lines[job.priority];
  const takes = secondsToCome(queue, job);
  for (const other of line) {
    if (other === job) break;
    const same = fits(other.slots, job.slots) && other.asked.engine === job.asked.engine &&
      secondsToCome(queue, other) <= takes;
    if (same && ready(other)) world.fail(`${job_id} begins before ${other.job_id}`);
  }
  if (job.priority !== "P2") return;
  for (const other of [...queue.lines.P0, ...queue.lines.P1]) {
    if (couldHold(machine, other) && ready(other)) {
      world.fail(`${job_id} is idle work, and begins before ${other.job_id}`);
    }
  }
}

/** Its budget may forbid it, as far as this can tell. */
function tooDear(queue: Queue, { anyway }: Job): boolean {
  return !anyway && queue.budgets.length > 0;
}

/** Every job has come to its end, or waits for what does not pass by itself. */
export function checkEnd(world: World, queue: Queue): void {
  for (const job of queue.jobs.values()) {
    if (job.ended !== null) continue;
    const wait = job.state === "waiting" ? notReady(queue, job, world.now) : null;
    const blocked = wait?.blocked === true && job.held === null;
    if (!blocked && !(job.state === "waiting" && tooDear(queue, job))) {
      world.fail(`${job.job_id} is ${job.state} at the end: ${wait?.reason ?? job.reason}`);
    }
  }
  if (queue.left_behind.size > 0) world.fail(`${[...queue.left_behind.keys()]} is left behind`);
  if (world.now < 20 * HOUR) world.fail("the run ended before anything could happen");
}
