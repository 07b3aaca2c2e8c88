/**
 * Engines that misbehave as the real ones were seen to: SLURM 22.05 and Ray 2.60, and a plain local one.
 * Each has one machine.
 */
import {
  type Attempt,
  type Capacity,
  type Engine,
  EngineError,
  type EngineState,
  type Slots,
} from "../../../../core/jobs/engine.ts";
import { fits, minus, plus } from "../../../../core/jobs/slots.ts";
import {
  FAULTS_END,
  HOUR,
  type Machine,
  MINUTE,
  type Program,
  SECOND,
  type World,
} from "./world.ts";

/** A start of an attempt in an engine's books. */
interface Entry {
  readonly handle: string;
  readonly job_id: string;
  readonly asked: Attempt;
  state: EngineState;
  changed: number;
  /** It does not begin before. */
  due: number;
  program: Program | null;
  /** Its engine will not hear of its end. */
  lost: boolean;
}

/** Job and attempt of a handle such as `pare-1f2e3d4c-exp-047-2`. */
function partsOf(handle: string): [string, number] {
  const [, job_id, attempt] = /(exp-\d+)-(\d+)$/.exec(handle)!;
  return [job_id!.toUpperCase(), Number(attempt)];
}

/** Made once: where an error was made costs more than all else that is done about it. */
const NO_ANSWER = new EngineError("down", "no answer for 9 s");
const RESET = new EngineError("down", "connection reset");

const CANCELLED: EngineState = { state: "ended", how: "cancelled", code: null };

export class SimEngine implements Engine {
  /** Starts by handle; SLURM may have two of one. */
  readonly #books = new Map<string, Entry[]>();
  /** Those that are not over, in the order in which they came. */
  readonly #open = new Set<Entry>();
  #down_until = 0;
  /** Held by what is not of this queue. */
  #others: Slots = { cpu: 0, gpu: 0, memory_gb: null };

  constructor(
    readonly name: string,
    readonly kind: "local" | "slurm" | "ray",
    readonly world: World,
    readonly machine: Machine,
  ) {
    if (kind === "local") return;
    this.#faults();
    this.#share();
  }

  /** Other people take what is free, for hours. */
  #share(): void {
    const { world } = this;
    const count = Math.floor(world.between(0, 12));
    for (let n = 0; n < count; n++) {
      world.later(world.between(0, FAULTS_END - 24 * HOUR), () => {
        const cpu = Math.min(this.#free().cpu, Math.ceil(world.between(0, 4)));
        if (cpu <= 0) return;
        const taken = { cpu, gpu: 0, memory_gb: null };
        this.#others = plus(this.#others, taken);
        world.news = true;
        world.later(world.between(0.1, 12) * HOUR, () => {
          this.#others = minus(this.#others, taken);
          world.news = true;
          this.#begin();
        });
      });
    }
  }

  #faults(): void {
    const { world } = this;
    const count = Math.floor(world.between(0, 8));
    for (let n = 0; n < count; n++) {
      world.later(world.between(0, FAULTS_END - 60 * MINUTE), () => {
        const fault = world.random();
        this.#down_until = world.now + (fault < 0.9 ? 60 : 1200) * SECOND;
        world.tell(1);
        world.tell(this.#down_until - world.now);
        if (fault < 0.3) return;
        if (this.kind === "ray") this.#loseHead();
        else if (fault < 0.5) this.#startTwice();
        else if (fault < 0.7) this.#loseEnd();
        else this.#requeue();
      });
    }
  }

  /** One that works, to do something to. */
  #victim(): Entry | undefined {
    return [...this.#open].find(({ state, program }) =>
      state.state === "running" && program?.alive
    );
  }

  /** Of two starts the one that is not over. */
  #entry(handle: string): Entry | undefined {
    const entries = this.#books.get(handle);
    return entries?.find((entry) => this.#open.has(entry)) ?? entries?.at(-1);
  }

  /** The program that works on an attempt, known to the engine or not: its folder reaches it. */
  #program(handle: string): Program | undefined {
    const [job_id, attempt] = partsOf(handle);
    const program = this.world.living(job_id);
    return program?.attempt === attempt ? program : undefined;
  }

  /**
   * The head dies: its jobs go on, or what watches their supervisors kills them. The next head knows none.
   */
  #loseHead(): void {
    const programs = [...this.#open].flatMap(({ program }) => program?.alive ? [program] : []);
    this.#books.clear();
    this.#open.clear();
    for (const program of programs) {
      const dies = this.world.chance(0.25);
      this.world.sometimes(dies ? "job dies with its head" : "job outlives its head");
      if (dies) this.world.kill(program);
    }
  }

  /** The controller is killed after it started a job and before it wrote that down. */
  #startTwice(): void {
    const entry = this.#victim();
    if (entry === undefined) return;
    this.world.sometimes("controller starts a job twice");
    const { program } = entry;
    entry.program = null;
    if (this.world.chance(0.5)) this.world.kill(program!);
    this.#queue(entry);
  }

  /** A job dies, and runs in the books for ever. */
  #loseEnd(): void {
    const entry = this.#victim();
    if (entry === undefined) return;
    this.world.sometimes("job runs in the books alone");
    const { program } = entry;
    entry.program = null;
    entry.lost = true;
    this.world.kill(program!);
  }

  /** SLURM stops a job for another one, and takes it up 121 seconds later. */
  #requeue(): void {
    const entry = this.#victim();
    if (entry === undefined) return;
    this.world.sometimes("job requeued after 121 s");
    const { program } = entry;
    entry.program = null;
    if (this.world.chance(0.5)) this.world.kill(program!);
    else this.world.save(program!);
    entry.state = { state: "queued", reason: "BeginTime" };
    this.world.later(121 * SECOND, () => this.#queue(entry));
  }

  #queue(entry: Entry): void {
    entry.state = { state: "queued", reason: null };
    const delay = this.#delay();
    entry.due = this.world.now + delay;
    this.world.later(delay, () => this.#begin());
  }

  /** Most begin at once; some wait in a cluster's line. */
  #delay(): number {
    const most = { local: 0.05, slurm: 2, ray: 4 }[this.kind];
    const line = this.kind !== "local" && this.world.faulty && this.world.chance(0.25);
    return line ? this.world.between(0, 8) * HOUR : this.world.between(0, most) * SECOND;
  }

  #free(): Slots {
    let free = minus(this.machine.total, this.#others);
    for (const { state, asked } of this.#open) {
      if (state.state === "running") free = minus(free, asked.slots);
    }
    return free;
  }

  /** Begins what waits and fits, in the order in which it came. */
  #begin(): void {
    let free = this.#free();
    for (const entry of this.#open) {
      const { state, due } = entry;
      const waits = state.state === "queued" && state.reason !== "BeginTime";
      if (!waits || due > this.world.now) continue;
      if (!fits(entry.asked.slots, free)) continue;
      free = minus(free, entry.asked.slots);
      this.#change(entry, { state: "running" });
      const { slots, attempt } = entry.asked;
      const { job_id } = entry;
      entry.program = this.world.start({
        ...{ job_id, attempt, slots, machine: this.machine },
        ended: (code) => this.#ended(entry, code),
      });
    }
  }

  #change(entry: Entry, state: EngineState): void {
    entry.state = state;
    if (state.state === "ended") this.#open.delete(entry);
    entry.changed = this.world.now;
  }

  #ended(entry: Entry, code: number | null): void {
    const { state } = entry.state;
    if (!this.#open.has(entry) || state !== "running" || entry.lost) return;
    if (entry.program?.alive) return;
    this.#change(entry, this.#endOf(entry, code));
    this.world.news = true;
    this.world.later(this.#delay(), () => this.#begin());
  }

  /** The folder tells first: without a result nobody knows how it ended, but for a start that found it taken. */
  #endOf({ job_id, asked }: Entry, code: number | null): EngineState {
    const { result, lease } = this.world.look(job_id, asked.attempt);
    if (lease === "closed" || result?.how === "cancelled") return CANCELLED;
    return { state: "ended", how: code === null ? "lost" : "exit", code };
  }

  /** Time passes, and the engine may be down or its answer get lost. */
  // deno-lint-ignore require-await
  async #call<T>(what: "submit" | "ask", run: () => T): Promise<T> {
    const { world } = this;
    const slow = world.faulty && this.kind !== "local" && world.chance(0.002);
    world.pass(world.now + world.between(0, slow ? 30 : 0.1) * SECOND);
    if (world.now < this.#down_until) {
      world.sometimes("engine is down");
      throw NO_ANSWER;
    }
    const value = run();
    const loss = what === "submit" ? 0.03 : 0.005;
    if (world.faulty && this.kind !== "local" && world.chance(loss)) {
      world.sometimes("answer of an engine is lost");
      throw RESET;
    }
    return value;
  }

  submit(asked: Attempt): Promise<string> {
    const { id, attempt } = asked;
    return this.#call("submit", () => {
      const handle = `${id}-${attempt}`;
      const there = this.#entry(handle);
      if (there !== undefined && this.kind === "ray" && this.world.faulty) {
        this.world.sometimes("an error for a duplicate that was accepted");
        throw new EngineError("refused", "500: already exists");
      }
      // SLURM knows no submission id: who asks twice at a bad time has two jobs.
      if (there !== undefined && !(this.kind === "slurm" && this.world.chance(0.5))) {
        return handle;
      }
      const [job_id] = partsOf(handle);
      if (this.kind === "ray" && this.world.faulty && this.world.chance(0.005)) {
        this.world.sometimes("a refusal, and a start all the same");
        this.world.refused.add(job_id);
        this.world.later(this.world.between(5, 60) * SECOND, () => this.#take(asked, handle));
        throw new EngineError("refused", "500: the head is busy");
      }
      this.#take(asked, handle);
      return handle;
    });
  }

  #take(asked: Attempt, handle: string): void {
    const [job_id] = partsOf(handle);
    const entry: Entry = {
      ...{ handle, job_id, asked, program: null, lost: false, changed: this.world.now, due: 0 },
      state: { state: "queued", reason: null },
    };
    this.#books.set(handle, [...this.#books.get(handle) ?? [], entry]);
    this.#open.add(entry);
    this.#queue(entry);
  }

  states(handles: readonly string[]): Promise<Map<string, EngineState>> {
    return this.#call("ask", () => new Map(handles.map((handle) => [handle, this.#state(handle)])));
  }

  #state(handle: string): EngineState {
    const entry = this.#entry(handle);
    const unknown: EngineState = { state: "unknown", reason: "no such job" };
    if (entry === undefined) return unknown;
    const past = (this.world.now - entry.changed) / SECOND;
    if (entry.state.state !== "ended") return entry.state;
    if (this.kind === "slurm" && past > 300) return unknown;
    const deleted = this.kind === "ray" && this.world.faulty && entry.state.how === "cancelled";
    if (!deleted || past < 10) return entry.state;
    // An id that somebody deletes is gone, and then back as one that failed.
    return past < 30 ? unknown : { state: "ended", how: "lost", code: null };
  }

  logs(): Promise<never> {
    throw new Error("nobody reads logs here");
  }

  save(handle: string): Promise<void> {
    return this.#call("ask", () => {
      const program = this.#program(handle);
      if (program !== undefined) return this.world.save(program);
      // One that has not begun has nothing to save: it is taken back.
      if (this.#entry(handle)?.state.state === "queued") this.#withdraw(handle);
    });
  }

  cancel(handle: string): Promise<void> {
    return this.#call("ask", () => {
      const program = this.#program(handle);
      if (program !== undefined) return this.world.stop(program);
      const entry = this.#entry(handle);
      if (entry === undefined) throw new EngineError("refused", "404: no such job");
      this.#withdraw(handle);
    });
  }

  /** Takes back what has not begun, as far as its engine heeds that. */
  #withdraw(handle: string): void {
    const { faulty } = this.world;
    if (this.#entry(handle)?.state.state === "queued" && this.kind === "ray" && faulty) {
      return this.world.sometimes("stop without effect while pending");
    }
    for (const start of this.#books.get(handle)!) {
      if (this.#open.has(start)) this.#change(start, CANCELLED);
    }
    this.world.later(this.#delay(), () => this.#begin());
  }

  capacity(): Promise<Capacity> {
    const { total, name } = this.machine;
    return this.#call("ask", () => {
      const free = this.#free();
      return { total, free, largest: total, machine: name };
    });
  }

  find(id: string, attempt: number): Promise<string[]> {
    const handle = `${id}-${attempt}`;
    return this.#call("ask", () => this.#books.has(handle) ? [handle] : []);
  }
}
