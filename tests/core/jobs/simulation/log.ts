/** The journal that all processes of a simulated queue append to, and what is checked at each event. */
import { attemptOf, emptyQueue, type Queue } from "../../../../core/jobs/queue_state.ts";
import type { JobEvent } from "../../../../core/jobs/events.ts";
import type { JobDisk } from "../../../../core/jobs/ports.ts";
import { reduce } from "../../../../core/jobs/reduce.ts";
import { checkAppended, type Rules } from "./rules.ts";
import type { World } from "./world.ts";

export class Log {
  readonly events: JobEvent[] = [];
  /** What all that was appended makes, for checks and for people, who keep nothing in mind. */
  readonly queue = emptyQueue();

  constructor(readonly world: World, readonly rules: Rules) {}

  append(events: readonly JobEvent[]): void {
    if (events.length === 0) return;
    for (const event of events) {
      const job = "job_id" in event ? this.queue.jobs.get(event.job_id) : undefined;
      const state = job?.state;
      const attempt = job === undefined ? null : attemptOf(job);
      const stops = attempt !== null && attempt.stop !== null;
      const place = job === undefined ? -1 : this.queue.lines[job.priority].indexOf(job);
      this.events.push(event);
      reduce(this.queue, event);
      this.rules.event(this.queue, event, { state, attempt, place, stops });
    }
    if (this.events.length > 100 * (this.queue.jobs.size + 20)) {
      this.world.fail("it goes in circles");
    }
    checkAppended(this.world, this.queue, events);
  }
}

/** One process's view of the log: what it has read, and nothing once it is dead. */
export class LogDisk implements JobDisk {
  #read = 0;
  readonly #queue: Queue = emptyQueue();

  /** `reader`: a dead process's, whose reading is gone on with; null: all is read anew. */
  constructor(readonly log: Log, reader: LogDisk | null) {
    if (reader === null) return;
    this.#read = reader.#read;
    this.#queue = reader.#queue;
  }

  /** What others appended, read now. */
  get queue(): Queue {
    const { events } = this.log;
    while (this.#read < events.length) reduce(this.#queue, events[this.#read++]!);
    return this.#queue;
  }

  // deno-lint-ignore require-await
  async transact(decide: (queue: Queue) => readonly JobEvent[]): Promise<Queue> {
    this.log.append(decide(this.queue));
    return this.queue;
  }
}
