/**
 * A simulated world: time, machines, folders and the programs that work in them. One seed decides all of
 * it. A program holds the lease of its attempt's folder while it lives.
 */
import { streamRandom } from "../../../../core/random.ts";
import type { Slots } from "../../../../core/jobs/engine.ts";
import type { AttemptResult, AttemptSeen } from "../../../../core/jobs/ports.ts";
import { fits, minus, NO_SLOTS, plus } from "../../../../core/jobs/slots.ts";
import { Heap } from "./heap.ts";

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** Nobody does anything wrong any more after this. */
export const FAULTS_END = 15 * DAY;
export const END = 30 * DAY;
/** Who looks from another machine takes a holder for dead so long after its last sign. */
const LEASE_SECONDS = 90;

/** A rule was broken: the run is over. */
export class Violation extends Error {
  override name = "Violation";
}

/** What a job is in truth; nobody but its programs knows. */
export interface Truth {
  /** Seconds of work that are left. */
  left: number;
  outcome: "done" | "bad_input" | "broken";
  /** Attempts that fail by what passes, before one that does not. */
  passing: number;
  /** It promises to save, and does not. */
  readonly deaf: boolean;
}

export interface Program {
  readonly job_id: string;
  readonly attempt: number;
  readonly machine: Machine;
  readonly slots: Slots;
  readonly began: number;
  readonly ended: (code: number | null) => void;
  alive: boolean;
}

export interface Machine {
  readonly name: string;
  readonly total: Slots;
  /** Held by living programs with a lease. */
  live: Slots;
}

interface Folder {
  holder: Program | null;
  closed: boolean;
  died: number;
  result: AttemptResult | null;
}

export class World {
  now = 0;
  /** Something happened that a core could see. */
  news = true;
  violation: Violation | null = null;
  readonly truths = new Map<string, Truth>();
  readonly reached = new Map<string, number>();
  /** Seconds that programs lived, by machine. */
  readonly worked = new Map<string, number>();
  /** Jobs that an engine said it would never run. */
  readonly refused = new Set<string>();
  /** By job; by attempt. */
  readonly #folders = new Map<string, Folder[]>();
  readonly #living = new Map<string, Program>();
  readonly #finished = new Set<string>();
  readonly #events = new Heap();
  readonly random: () => number;

  constructor(readonly seed: number) {
    this.random = streamRandom(seed, "world");
  }

  get faulty(): boolean {
    return this.now < FAULTS_END;
  }

  /** Whether something of this chance happens; what is a fault does so until faults end. */
  chance(share: number): boolean {
    return this.random() < share;
  }

  between(least: number, most: number): number {
    return least + (most - least) * this.random();
  }

  /** Counts that a rare state was reached. */
  sometimes(what: string): void {
    this.reached.set(what, (this.reached.get(what) ?? 0) + 1);
  }

  fail(rule: string): never {
    this.violation ??= new Violation(
      `seed ${this.seed}, hour ${(this.now / HOUR).toFixed(2)}: ${rule}`,
    );
    throw this.violation;
  }

  later(delay: number, run: () => void): void {
    this.#events.push(this.now + delay, run);
  }

  /** A core could see something then. */
  tell(delay: number): void {
    this.later(delay, () => this.news = true);
  }

  /** Time of the next event; Infinity: none. */
  get next(): number {
    return this.#events.next;
  }

  /** Lets time pass, and what is due in it happen. */
  pass(until: number): void {
    while (this.#events.next <= until) {
      this.now = Math.max(this.now, this.#events.next);
      this.#events.pop()();
    }
    this.now = Math.max(this.now, until);
  }

  #folder(job_id: string, attempt: number): Folder {
    let folders = this.#folders.get(job_id);
    if (folders === undefined) this.#folders.set(job_id, folders = []);
    return folders[attempt] ??= { holder: null, closed: false, died: 0, result: null };
  }

  look(job_id: string, attempt: number): AttemptSeen {
    const { holder, closed, died, result } = this.#folder(job_id, attempt);
    const progress = null;
    if (closed) return { result, lease: "closed", progress };
    if (holder === null) return { result, lease: "none", progress };
    const fresh = holder.alive || result === null && this.now < died + LEASE_SECONDS * SECOND;
    return { result, lease: fresh ? "fresh" : "stale", progress };
  }

  close(job_id: string, attempt: number): boolean {
    const folder = this.#folder(job_id, attempt);
    if (folder.holder === null) folder.closed = true;
    return folder.closed;
  }

  /** The job's program that lives; undefined: none does. */
  living(job_id: string): Program | undefined {
    return this.#living.get(job_id);
  }

  finished(job_id: string): boolean {
    return this.#finished.has(job_id);
  }

  /** A program begins; null: another one had begun that attempt, and it ends with code 75. */
  start(of: Omit<Program, "alive" | "began">): Program | null {
    const { job_id, attempt, machine, slots } = of;
    const folder = this.#folder(job_id, attempt);
    this.news = true;
    if (folder.closed || folder.holder !== null) {
      this.sometimes(folder.closed ? "closed attempt started" : "attempt started twice");
      this.later(0.2 * SECOND, () => of.ended(75));
      return null;
    }
    const other = this.#living.get(job_id);
    if (other !== undefined) {
      this.fail(`${job_id}: attempt ${attempt} begins while ${other.attempt} works`);
    }
    if (this.#finished.has(job_id)) this.fail(`${job_id}: it begins again though it is done`);
    machine.live = plus(machine.live, slots);
    if (!fits(machine.live, machine.total)) this.fail(`${machine.name} holds more than it has`);
    const program = { ...of, began: this.now, alive: true };
    folder.holder = program;
    this.#living.set(job_id, program);
    this.#work(program);
    return program;
  }

  #work(program: Program): void {
    const truth = this.truths.get(program.job_id)!;
    if (this.faulty && this.chance(0.02)) {
      this.later(truth.left * SECOND * this.random(), () => {
        this.sometimes("program dies without a result");
        this.kill(program);
      });
    }
    if (truth.passing > 0) {
      truth.passing--;
      this.later(this.between(1, truth.left) * SECOND, () => {
        this.finish(program, { how: "failed", code: 1, reason: "the disk is full", passing: true });
      });
      return;
    }
    const { outcome } = truth;
    const [how, code] = outcome === "done"
      ? ["done", 0] as const
      : ["failed", outcome === "broken" ? 1 : 2] as const;
    this.later(truth.left * SECOND, () => {
      this.finish(program, { how, code, reason: outcome, passing: false });
    });
  }

  #over(program: Program): Folder {
    program.alive = false;
    const { name } = program.machine;
    this.worked.set(name, (this.worked.get(name) ?? 0) + (this.now - program.began) / SECOND);
    this.#living.delete(program.job_id);
    program.machine.live = minus(program.machine.live, program.slots);
    const folder = this.#folder(program.job_id, program.attempt);
    folder.died = this.now;
    return folder;
  }

  /** Ends a program with a last word. */
  finish(program: Program, word: Omit<AttemptResult, "seconds">): void {
    if (!program.alive) return;
    const seconds = (this.now - program.began) / SECOND;
    if (word.how === "done") this.#finished.add(program.job_id);
    if (word.how === "saved") this.truths.get(program.job_id)!.left -= seconds;
    this.#over(program).result = { ...word, seconds };
    this.news = true;
    this.later(this.between(0, 3) * SECOND, () => program.ended(word.code));
  }

  /** Ends a program without a word. */
  kill(program: Program): void {
    if (!program.alive) return;
    this.#over(program);
    this.news = true;
    this.tell(LEASE_SECONDS * SECOND); // who looks then sees that the lease is stale
    program.ended(null);
  }

  save(program: Program): void {
    if (this.truths.get(program.job_id)!.deaf) return this.sometimes("program does not save");
    this.later(this.between(1, 60) * SECOND, () => {
      this.finish(program, { how: "saved", code: 0, reason: "saved", passing: false });
    });
  }

  stop(program: Program): void {
    this.later(this.between(0, 3) * SECOND, () => {
      if (this.chance(0.5)) return this.kill(program);
      this.finish(program, { how: "cancelled", code: null, reason: "stopped", passing: false });
    });
  }
}

export function machine(name: string, total: Slots): Machine {
  return { name, total, live: { ...NO_SLOTS, memory_gb: null } };
}
