/** A queue in memory, engines and folders that do as they are told, and a clock that a test moves. */
import type { Capacity, Engine, EngineState, Slots } from "../../../core/jobs/engine.ts";
import { EngineError } from "../../../core/jobs/engine.ts";
import { openQueue, submitJob } from "../../../core/jobs/ask.ts";
import { type Turn, turn } from "../../../core/jobs/drive.ts";
import { JobEvent, type Submission } from "../../../core/jobs/events.ts";
import type { AttemptFiles, AttemptSeen, JobDisk } from "../../../core/jobs/ports.ts";
import { emptyQueue, type Job, type Queue } from "../../../core/jobs/queue_state.ts";
import { reduce } from "../../../core/jobs/reduce.ts";

export const START = Date.parse("2026-01-11T12:00:00.000Z");

export function cpus(cpu: number, gpu = 0): Slots {
  return { cpu, gpu, memory_gb: null };
}

export function asked(submission_id: string, more: Partial<Submission> = {}): Submission {
  return {
    ...{
      submission_id,
      title: submission_id,
      priority: "P1",
      work: {},
      work_kind: "task",
      size: "",
    },
    ...{ study: null, slots: cpus(1), engine: null, after: [], success: [], anyway: false },
    ...{ estimate_seconds: 3600, estimate_source: "said", may_be_saved: true },
    ...more,
  };
}

/** A disk that keeps its events, and checks each as a journal's reader would. */
export class MemoryDisk implements JobDisk {
  readonly events: JobEvent[] = [];
  queue = emptyQueue();

  transact(decide: (queue: Queue) => readonly JobEvent[]): Promise<Queue> {
    for (const event of decide(this.queue)) {
      this.events.push(JobEvent.parse(event));
      reduce(this.queue, event);
    }
    return Promise.resolve(this.queue);
  }
}

/** An engine whose states are set by hand; it takes what is submitted. */
export class PlainEngine implements Engine {
  readonly states_now = new Map<string, EngineState>();
  readonly calls: string[] = [];
  refuses: EngineError | null = null;

  constructor(readonly name: string, public total: Slots, readonly machine = "cpu") {}

  #ready(): void {
    if (this.refuses?.kind === "down") throw this.refuses;
  }

  submit(attempt: { id: string; attempt: number }): Promise<string> {
    this.calls.push(`submit ${attempt.id} ${attempt.attempt}`);
    if (this.refuses !== null) return Promise.reject(this.refuses);
    const handle = `${attempt.id}-${attempt.attempt}`;
    this.states_now.set(handle, { state: "queued", reason: null });
    return Promise.resolve(handle);
  }

  async states(handles: readonly string[]): Promise<Map<string, EngineState>> {
    await Promise.resolve(this.#ready());
    const unknown: EngineState = { state: "unknown", reason: "never seen" };
    return new Map(handles.map((handle) => [handle, this.states_now.get(handle) ?? unknown]));
  }

  logs(): Promise<{ bytes: Uint8Array; next: number; more: boolean }> {
    return Promise.resolve({ bytes: new Uint8Array(), next: 0, more: false });
  }

  async save(handle: string): Promise<void> {
    await Promise.resolve(this.#ready());
    this.calls.push(`save ${handle}`);
  }

  async cancel(handle: string): Promise<void> {
    await Promise.resolve(this.#ready());
    this.calls.push(`cancel ${handle}`);
  }

  async capacity(): Promise<Capacity> {
    await Promise.resolve(this.#ready());
    const { total, machine } = this;
    return { total, free: total, largest: total, machine };
  }

  async find(id: string, attempt: number): Promise<string[]> {
    await Promise.resolve(this.#ready());
    const handle = `${id}-${attempt}`;
    this.calls.push(`find ${handle}`);
    return this.states_now.has(handle) ? [handle] : [];
  }
}

const NOTHING: AttemptSeen = { result: null, lease: "none", progress: null };

export class Scene {
  now = START;
  readonly disk = new MemoryDisk();
  readonly folders = new Map<string, AttemptSeen>();
  readonly lacks = new Map<string, string>();

  constructor(readonly engines: PlainEngine[] = [new PlainEngine("local", cpus(4))]) {
    this.tell(openQueue(this.queue, "1f2e3d4c", this.at));
  }

  get queue(): Queue {
    return this.disk.queue;
  }

  get at(): string {
    return new Date(this.now).toISOString();
  }

  tell(events: readonly JobEvent[]): void {
    this.disk.transact(() => events);
  }

  /** Submits a job; gives its id. */
  submit(title: string, more: Partial<Submission> = {}): string {
    this.tell(submitJob(this.queue, asked(title, more), this.at));
    return this.queue.submissions.get(title)!;
  }

  readonly files: AttemptFiles = {
    prepare: (job, attempt, id) =>
      Promise.resolve(
        this.lacks.get(job.job_id) ?? { id, attempt, argv: ["true"], folder: `/${id}`, env: {} },
      ),
    look: (keys) =>
      Promise.resolve(
        keys.map(({ job_id, attempt }) => this.folders.get(`${job_id} ${attempt}`) ?? NOTHING),
      ),
    close: ({ job_id, attempt }) => {
      const key = `${job_id} ${attempt}`;
      const { lease } = this.folders.get(key) ?? NOTHING;
      if (lease === "none") this.folders.set(key, { ...NOTHING, lease: "closed" });
      return Promise.resolve(lease === "none" || lease === "closed");
    },
  };

  /** What the folder of a job's last attempt says from now on. */
  folder(job_id: string, says: Partial<AttemptSeen>): void {
    const key = `${job_id} ${this.job(job_id).attempts.length}`;
    this.folders.set(key, { ...NOTHING, ...says });
  }

  job(job_id: string): Job {
    return this.queue.jobs.get(job_id)!;
  }

  /** State of each job, in the order of their numbers. */
  get states(): string[] {
    return [...this.queue.jobs.values()].map(({ state }) => state);
  }

  /** So many seconds later, a turn. */
  async turn(seconds = 0): Promise<Turn> {
    this.now += 1000 * seconds;
    const { disk, files, engines } = this;
    return await turn({ clock: () => this.now, disk, files, engines });
  }

  /** Turns until all has begun that can. */
  async begin(): Promise<void> {
    await this.turn();
    for (const job of this.queue.under_way.values()) {
      const { handle, engine } = job.attempts.at(-1)!;
      if (handle === null || job.attempts.at(-1)!.stop !== null) continue;
      this.folder(job.job_id, { lease: "fresh" });
      this.engines.find(({ name }) => name === engine)!.states_now
        .set(handle, { state: "running" });
    }
    await this.turn();
  }

  /** Ends a job's attempt so, and takes a turn. */
  async end(
    job_id: string,
    how: "done" | "failed" | "saved" | "cancelled",
    more: Partial<NonNullable<AttemptSeen["result"]>> = {},
  ): Promise<void> {
    const code = how === "done" ? 0 : 1;
    const result = { how, code, reason: how, seconds: 60, passing: false, ...more };
    this.folder(job_id, { result, lease: "stale" });
    const { handle, engine } = this.job(job_id).attempts.at(-1)!;
    this.engines.find(({ name }) => name === engine)!.states_now
      .set(handle!, { state: "ended", how: "exit", code: result.code });
    await this.turn();
  }
}
