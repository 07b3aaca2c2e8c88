/** Makes the state of a queue: the one file that writes to it. */
import { addPrice, attemptPrice } from "./actions.ts";
import type { Slots } from "./engine.ts";
import { momentTime } from "./moments.ts";
import type { AttemptEnded, JobEvent, Priority } from "./events.ts";
import {
  attemptOf,
  chargeKey,
  chargeOf,
  type Job,
  type JobAttempt,
  type KnownEngine,
  type Queue,
  RETRIES,
  sizeKey,
} from "./queue_state.ts";
import { minus, NO_SLOTS, plus } from "./slots.ts";

/** What `reduce` alone may write to. */
type Draft<T> = {
  -readonly [K in keyof T]: T[K] extends ReadonlyMap<infer A, infer B> ? Map<A, B>
    : T[K] extends readonly (infer E)[] ? E[]
    : T[K];
};

type EventOf<T extends JobEvent["type"]> = Extract<JobEvent, { type: T }>;

function openJob(queue: Draft<Queue>, job_id: string): Draft<Job> | null {
  const job = queue.jobs.get(job_id);
  return job === undefined || job.ended !== null ? null : job as Draft<Job>;
}

/** The job and attempt that an event is about, while they are not over. */
function openAttempt(
  queue: Draft<Queue>,
  { job_id, attempt }: { job_id: string; attempt: number },
): [Draft<Job>, Draft<JobAttempt>] | null {
  const job = queue.under_way.get(job_id);
  const last = job === undefined ? null : attemptOf(job);
  return last?.number === attempt ? [job as Draft<Job>, last as Draft<JobAttempt>] : null;
}

function lineOf(queue: Draft<Queue>, priority: Priority): Job[] {
  return queue.lines[priority] as Job[];
}

function leaveLine(queue: Draft<Queue>, job: Job): void {
  const line = lineOf(queue, job.priority);
  const place = line.indexOf(job);
  if (place >= 0) line.splice(place, 1);
}

function endJob(
  queue: Draft<Queue>,
  job: Draft<Job>,
  state: "done" | "failed" | "cancelled",
  { at, reason }: { at: number; reason: string },
): void {
  leaveLine(queue, job);
  job.state = state;
  job.reason = reason;
  job.ended = at;
  job.not_before = null;
}

function takeSlots(queue: Draft<Queue>, engine: string, slots: Slots, sign: 1 | -1): void {
  const known = queue.engines.get(engine) as Draft<KnownEngine> | undefined;
  if (known !== undefined) known.used = (sign === 1 ? plus : minus)(known.used, slots);
}

function usedOn(queue: Queue, engine: string): Slots {
  return [...queue.under_way.values()].map((job) => attemptOf(job)!)
    .filter((attempt) => attempt.engine === engine)
    .reduce((sum, { slots }) => plus(sum, slots), NO_SLOTS);
}

function submit(queue: Draft<Queue>, event: EventOf<"submitted">): void {
  const { job_id, submission_id, priority } = event;
  if (queue.submissions.has(submission_id) || queue.jobs.has(job_id)) return;
  const job: Job = {
    job_id,
    asked: event,
    submitted: momentTime(event.at),
    takes_as: sizeKey(event.work_kind, event.size),
    priority,
    work: event.work,
    slots: event.slots,
    anyway: event.anyway,
    state: "waiting",
    reason: "submitted",
    held: null,
    missing: null,
    not_before: null,
    attempts: [],
    retries: 0,
    saved_seconds: 0,
    passed: 0,
    verdicts: event.success.map(() => null),
    judged: event.success.map(() => null),
    actions: [],
    ended: null,
  };
  queue.submissions.set(submission_id, job_id);
  queue.jobs.set(job_id, job);
  lineOf(queue, priority).push(job);
}

function move(queue: Draft<Queue>, event: EventOf<"moved">): void {
  const job = openJob(queue, event.job_id);
  if (job === null || event.before === job.job_id) return;
  leaveLine(queue, job);
  job.priority = event.priority;
  const line = lineOf(queue, job.priority);
  const place = line.findIndex(({ job_id }) => job_id === event.before);
  line.splice(place < 0 ? line.length : place, 0, job);
}

function askCancel(queue: Draft<Queue>, { at, job_id, reason }: EventOf<"cancel_asked">): void {
  const job = openJob(queue, job_id);
  if (job === null || job.state === "cancelling") return;
  const attempt = attemptOf(job) as Draft<JobAttempt> | null;
  if (attempt === null) return endJob(queue, job, "cancelled", { at: momentTime(at), reason });
  attempt.stop = { what: "cancel", asked: momentTime(at), told: null, reason, for_job: null };
  Object.assign(job, { state: "cancelling", reason });
}

/** What the largest share that slots take of an engine costs an hour. */
function priceOf(engine: KnownEngine | undefined, { cpu, gpu }: Slots): number | null {
  if (engine === undefined || engine.price_per_hour === null) return null;
  const share = (part: number, whole: number) => whole === 0 ? 0 : Math.min(1, part / whole);
  return engine.price_per_hour *
    Math.max(share(cpu, engine.total.cpu), share(gpu, engine.total.gpu));
}

function plan(queue: Draft<Queue>, event: EventOf<"attempt_planned">): void {
  const job = openJob(queue, event.job_id);
  if (job?.state !== "waiting" || event.attempt !== job.attempts.length + 1) return;
  const { attempt: number, engine, machine, slots, reason } = event;
  job.attempts.push({
    number,
    engine,
    machine,
    slots,
    price_per_hour: priceOf(queue.engines.get(engine), slots),
    handle: null,
    planned: momentTime(event.at),
    began: null,
    ended: null,
    how: null,
    code: null,
    reason,
    seconds: null,
    stop: null,
    left_behind: false,
  });
  job.state = "submitted";
  job.reason = reason;
  job.passed = 0;
  job.not_before = null;
  for (const passed of event.passes) {
    const other = openJob(queue, passed);
    if (other !== null) other.passed++;
  }
  queue.under_way.set(job.job_id, job);
  takeSlots(queue, engine, slots, 1);
}

function askSave(queue: Draft<Queue>, event: EventOf<"save_asked">): void {
  const [job, attempt] = openAttempt(queue, event) ?? [];
  if (job === undefined || attempt === undefined || attempt.stop !== null) return;
  const { reason, for_job } = event;
  attempt.stop = { what: "save", asked: momentTime(event.at), told: null, reason, for_job };
  Object.assign(job, { state: "saving", reason });
}

function tell(queue: Draft<Queue>, { at, job_id, attempt, what }: EventOf<"engine_told">): void {
  const told = momentTime(at);
  const open = openAttempt(queue, { job_id, attempt })?.[1];
  if (open !== undefined) {
    if (open.stop !== null) open.stop = { ...open.stop, told };
    return;
  }
  const left = queue.left_behind.get(job_id)?.attempts ?? [];
  const over = left.find(({ number }) => number === attempt) as Draft<JobAttempt> | undefined;
  if (over === undefined || what !== "cancel") return;
  over.left_behind = false;
  if (!left.some(({ left_behind }) => left_behind)) queue.left_behind.delete(job_id);
}

function learnDuration(queue: Draft<Queue>, { takes_as, attempts }: Job): void {
  const whole = attempts.filter(({ how }) => how === "saved" || how === "done")
    .reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
  if (whole <= 0) return;
  const log = Math.log(whole);
  const { jobs, sum, squares } = queue.durations.get(takes_as) ?? { jobs: 0, sum: 0, squares: 0 };
  queue.durations.set(takes_as, { jobs: jobs + 1, sum: sum + log, squares: squares + log * log });
}

function endAttempt(queue: Draft<Queue>, event: AttemptEnded): void {
  const [job, attempt] = openAttempt(queue, event) ?? [];
  if (job === undefined || attempt === undefined) return;
  const { how, code, reason, seconds, left_behind, not_before } = event;
  const ended = momentTime(event.ended ?? event.at);
  attempt.ended = ended;
  attempt.how = how;
  attempt.code = code;
  attempt.reason = reason;
  attempt.seconds = seconds;
  attempt.left_behind = left_behind;
  queue.under_way.delete(job.job_id);
  if (left_behind) queue.left_behind.set(job.job_id, job);
  takeSlots(queue, attempt.engine, attempt.slots, -1);
  const { study } = job.asked;
  const key = chargeKey(attempt.machine, study);
  const { machine, slots } = attempt;
  const before = queue.spent.get(key);
  const charged = seconds * chargeOf(slots) + (before?.seconds ?? 0);
  const price = addPrice(before?.price ?? null, attemptPrice(attempt, ended));
  queue.spent.set(key, { machine, study, seconds: charged, price });
  if (how === "saved") job.saved_seconds += seconds;
  if (how === "lost" || how === "failed") job.retries++;
  else if (how === "saved") job.retries = 0;
  const next = event.next === "again" && job.state === "cancelling" ? "cancelled" : event.next;
  if (next !== "again") endJob(queue, job, next, { at: ended, reason });
  else {
    const again = not_before === null ? null : momentTime(not_before);
    job.state = "waiting";
    job.reason = reason;
    job.not_before = again;
    if (how === "lost" || how === "failed") {
      const limit = `${RETRIES} times, later and later`;
      const { number } = attempt;
      const action = { at: ended, attempt: number, condition: how, evidence: reason, limit };
      job.actions.push({ ...action, remedy: "retried" });
    }
  }
  if (next === "done") learnDuration(queue, job);
}

function remedy(queue: Draft<Queue>, event: EventOf<"remedied">): void {
  const job = queue.jobs.get(event.job_id) as Draft<Job> | undefined;
  if (job?.state !== "failed") return;
  const not_before = event.not_before === null ? null : momentTime(event.not_before);
  Object.assign(job, {
    state: "waiting",
    reason: event.reason,
    ended: null,
    not_before,
    retries: 0,
  });
  job.actions.push({
    ...{ at: momentTime(event.at), attempt: job.attempts.length, condition: "failed" },
    ...{ evidence: event.reason, remedy: "remedied", limit: null },
  });
  job.work = event.work ?? job.work;
  job.slots = event.slots ?? job.slots;
  lineOf(queue, job.priority).unshift(job); // it had begun before all that wait
}

function see(queue: Draft<Queue>, event: EventOf<"engine_seen">): void {
  const { engine: name, type: _, at: __, ...known } = event;
  const used = queue.engines.get(name)?.used ?? usedOn(queue, name);
  queue.engines.set(name, { name, ...known, used, down: null });
}

function goDown(queue: Draft<Queue>, event: EventOf<"engine_down">): void {
  const { engine: name, reason } = event;
  const known: KnownEngine = queue.engines.get(name) ?? {
    ...{ name, machine: "unknown", total: NO_SLOTS, largest: NO_SLOTS, others: NO_SLOTS },
    ...{ used: usedOn(queue, name), price_per_hour: null, down: null },
  };
  const since = known.down?.since ?? momentTime(event.at);
  queue.engines.set(name, { ...known, down: { reason, since } });
}

function setBudget(queue: Draft<Queue>, event: EventOf<"budget_set">): void {
  const { machine, study, hours, reserve_hours } = event;
  queue.budgets = queue.budgets.filter((one) => one.machine !== machine || one.study !== study);
  if (hours !== null) queue.budgets.push({ machine, study, hours, reserve_hours });
}

function change(queue: Draft<Queue>, job_id: string, to: Partial<Job>): void {
  const job = openJob(queue, job_id);
  if (job !== null) Object.assign(job, to);
}

const CHANGES: {
  readonly [T in JobEvent["type"]]: (queue: Draft<Queue>, event: EventOf<T>) => void;
} = {
  queue_opened: (queue, { queue_id }) => void (queue.queue_id ??= queue_id),
  submitted: submit,
  moved: move,
  held: (queue, { job_id, reason }) => change(queue, job_id, { held: reason }),
  released: (queue, { job_id }) =>
    change(queue, job_id, { held: null, missing: null, not_before: null }),
  cancel_asked: askCancel,
  told_anyway: (queue, { job_id }) => change(queue, job_id, { anyway: true }),
  missing: (queue, { job_id, reason }) => change(queue, job_id, { missing: reason }),
  criterion_judged(queue, { job_id, index, verdict, reason }) {
    const job = queue.jobs.get(job_id) as Draft<Job> | undefined;
    if (job === undefined || index >= job.verdicts.length) return;
    job.verdicts[index] = verdict;
    job.judged[index] = reason;
  },
  acted: (queue, { type: _, job_id, at, ...action }) =>
    void (queue.jobs.get(job_id) as Draft<Job> | undefined)?.actions
      .push({ ...action, at: momentTime(at) }),
  remedied: remedy,
  budget_set: setBudget,
  engine_seen: see,
  engine_down: goDown,
  attempt_planned: plan,
  attempt_submitted(queue, event) {
    const attempt = openAttempt(queue, event)?.[1];
    if (attempt !== undefined) attempt.handle ??= event.handle;
  },
  attempt_began(queue, event) {
    const [job, attempt] = openAttempt(queue, event) ?? [];
    if (job === undefined || attempt === undefined || attempt.began !== null) return;
    attempt.began = momentTime(event.began ?? event.at);
    if (job.state === "submitted") job.state = "running";
  },
  save_asked: askSave,
  engine_told: tell,
  attempt_ended: endAttempt,
};

/** Takes one more event into a queue: it changes the queue that it is given, and nothing else. */
export function reduce(queue: Queue, event: JobEvent): Queue {
  const draft = queue as Draft<Queue>;
  (CHANGES[event.type] as (queue: Draft<Queue>, event: JobEvent) => void)(draft, event);
  draft.events++;
  return queue;
}
