/** Who submits, moves, holds, releases and cancels. */
import {
  cancelJob,
  holdJob,
  moveJob,
  openQueue,
  releaseJob,
  submitJob,
} from "../../../../core/jobs/ask.ts";
import type { JobEvent, Submission } from "../../../../core/jobs/events.ts";
import type { Job, Queue } from "../../../../core/jobs/queue_state.ts";
import type { Log } from "./log.ts";
import { DAY, FAULTS_END, HOUR, type World } from "./world.ts";

const BATCHES = 12;
/** Jobs come in the first days, so that there is a line. */
const SUBMIT_DAYS = 8;

export class People {
  submitted = 0;
  /** All estimates are off by this. */
  readonly #wrong: number;

  constructor(
    readonly world: World,
    readonly log: Log,
    readonly jobs: number,
    readonly engines: readonly string[],
  ) {
    this.#wrong = world.chance(0.2) ? 0.02 : 1;
    this.#ask((_, at) => openQueue(this.log.queue, "1f2e3d4c", at));
    if (world.chance(this.#wrong === 1 ? 0.2 : 0.6)) this.#setBudget();
    for (let n = 0; n < BATCHES; n++) {
      const size = Math.round(jobs * (n + 1) / BATCHES) - Math.round(jobs * n / BATCHES);
      world.later(world.between(0, SUBMIT_DAYS * DAY), () => {
        for (let k = 0; k < size; k++) this.#submit();
      });
    }
    for (let n = 0; n < jobs / 4; n++) {
      world.later(world.between(0, FAULTS_END), () => this.#meddle());
    }
    world.later(FAULTS_END + DAY, () => {
      for (const job of this.#open()) {
        if (job.held !== null) this.#ask((queue, at) => releaseJob(queue, job.job_id, at));
      }
    });
  }

  #ask(wish: (queue: Queue, at: string) => JobEvent[]): void {
    this.#append(wish(this.log.queue, new Date(this.world.now).toISOString()));
  }

  #append(events: readonly JobEvent[]): void {
    this.log.append(events);
    this.world.news = true;
  }

  /** The same; but sometimes it is appended late, as by somebody who read the queue long before. */
  #askLate(wish: (queue: Queue, at: string) => JobEvent[]): void {
    const { world } = this;
    if (!world.chance(0.2)) return this.#ask(wish);
    const events = wish(this.log.queue, new Date(world.now).toISOString());
    world.later(world.between(0, 12) * HOUR, () => this.#append(events));
  }

  #open(): Job[] {
    return [...this.log.queue.jobs.values()].filter(({ ended }) => ended === null);
  }

  #setBudget(): void {
    const hours = this.world.between(10, 200);
    const machine = this.world.chance(0.5) ? "b" : null;
    const budget = { machine, study: null, hours, reserve_hours: hours / 10 };
    this.#ask((_, at) => [{ type: "budget_set", at, ...budget }]);
  }

  #submission(): Submission {
    const { world } = this;
    const draw = world.random();
    const name = `submission ${this.submitted++}`;
    const seconds = Math.exp(world.between(Math.log(600), Math.log(10 * 3600)));
    const fate = world.random();
    world.truths.set(name, {
      left: seconds,
      outcome: fate < 0.9 ? "done" : fate < 0.95 ? "broken" : "bad_input",
      passing: world.chance(0.05) ? 1 : 0,
      deaf: world.chance(0.03),
    });
    const known = [...this.log.queue.jobs.keys()];
    const depends = known.length > 0 && world.chance(0.15);
    const after = depends
      ? [{ job_id: known[Math.floor(world.random() * known.length)]!, met: false }]
      : [];
    const size = world.random();
    return {
      ...{
        submission_id: name,
        title: name,
        work: {},
        study: null,
        after,
        success: [],
        anyway: false,
      },
      priority: draw < 0.08 ? "P0" : draw < 0.7 ? "P1" : "P2",
      work_kind: "task",
      size: this.#wrong === 1 ? `${Math.floor(Math.log2(seconds))}` : name,
      slots: {
        cpu: size < 0.55 ? 1 : size < 0.8 ? 2 : size < 0.9 ? 3 : 4,
        gpu: world.chance(0.1) ? 1 : 0,
        memory_gb: null,
      },
      engine: world.chance(0.15)
        ? this.engines[Math.floor(world.random() * this.engines.length)]!
        : null,
      estimate_seconds: this.#wrong * seconds * world.between(0.5, 2),
      estimate_source: "said",
      may_be_saved: world.chance(0.8),
    };
  }

  /** Whoever hears no answer submits the same again. */
  #submit(): void {
    const { world } = this;
    const submission = this.#submission();
    const times = world.chance(0.05) ? 2 : 1;
    for (let n = 0; n < times; n++) this.#ask((queue, at) => submitJob(queue, submission, at));
    const job_id = this.log.queue.submissions.get(submission.submission_id);
    if (job_id === undefined) return world.fail(`${submission.submission_id} is lost`);
    world.truths.set(job_id, world.truths.get(submission.submission_id)!);
  }

  /** Somebody finds out why a job failed. */
  #remedy(): void {
    const failed = [...this.log.queue.jobs.values()].find(({ job_id, state }) =>
      state === "failed" && this.world.truths.get(job_id)!.outcome === "broken"
    );
    if (failed === undefined) return;
    const { job_id } = failed;
    this.world.sometimes("a failed job got a remedy");
    this.world.truths.get(job_id)!.outcome = "done";
    const remedy = { reason: "half the batch", work: null, slots: null, not_before: null };
    this.#ask((_, at) => [{ type: "remedied", at, job_id, ...remedy }]);
  }

  #meddle(): void {
    const { world } = this;
    if (world.chance(0.1)) return this.#remedy();
    const open = this.#open();
    const pick = () => open[Math.floor(world.random() * open.length)]!;
    if (open.length === 0) return;
    const { job_id, priority } = pick();
    const draw = world.random();
    if (draw < 0.4) {
      const other = pick();
      const before = other.priority === priority && other.job_id !== job_id ? other.job_id : null;
      this.#askLate((queue, at) => moveJob(queue, job_id, { priority: null, before }, at));
    } else if (draw < 0.7) {
      this.#askLate((queue, at) => holdJob(queue, job_id, "waiting on somebody", at));
      world.later(world.between(0, 48 * HOUR), () => {
        if (this.#open().some((job) => job.job_id === job_id)) {
          this.#ask((queue, at) => releaseJob(queue, job_id, at));
        }
      });
    } else this.#askLate((queue, at) => cancelJob(queue, job_id, "not needed any more", at));
  }
}
