/** One run: a world, people, and a core that is killed and comes back. */
import { budgetRows } from "../../../../core/jobs/budget.ts";
import { type QueuePorts, type Turn, turn } from "../../../../core/jobs/drive.ts";
import type { Engine } from "../../../../core/jobs/engine.ts";
import { attemptOf } from "../../../../core/jobs/queue_state.ts";
import { SimEngine } from "./engines.ts";
import { Log, LogDisk } from "./log.ts";
import { People } from "./people.ts";
import { checkEnd, Rules } from "./rules.ts";
import { END, HOUR, machine, MINUTE, SECOND, Violation, World } from "./world.ts";

/** So many cores go on with what the one before had read, but for one that reads the journal from its
 * beginning: what is read is the journal's alone, and reading it anew takes most of a core's life. */
const FRESH = 4;

/** The process is gone: nothing after this happens. */
class Killed {}

export interface Simulated {
  readonly events: number;
  readonly turns: number;
  readonly kills: number;
  readonly reached: ReadonlyMap<string, number>;
  /** Jobs by their state at the end. */
  readonly states: Readonly<Record<string, number>>;
}

export interface Size {
  readonly jobs: number;
  readonly kills: number;
}

export class Simulation {
  readonly world: World;
  readonly rules: Rules;
  readonly log: Log;
  readonly #engines: SimEngine[];
  /** Another process that works on the queue, too; null: there is none. */
  #other: QueuePorts | null = null;
  #turns = 0;
  #cores = 0;
  /** What the last core read, and the last other one. */
  readonly readers: [LogDisk | null, LogDisk | null] = [null, null];
  #kills = 0;
  /** Port calls until the next kill. */
  #until_kill: number;

  constructor(seed: number, readonly size: Size) {
    this.world = new World(seed);
    this.rules = new Rules(this.world);
    this.log = new Log(this.world, this.rules);
    const kind = this.world.chance(0.5) ? "slurm" : "ray";
    this.#engines = [
      new SimEngine(
        "local",
        "local",
        this.world,
        machine("a", { cpu: 4, gpu: 0, memory_gb: null }),
      ),
      new SimEngine(kind, kind, this.world, machine("b", { cpu: 4, gpu: 1, memory_gb: null })),
    ];
    new People(this.world, this.log, size.jobs, this.#engines.map(({ name }) => name));
    this.#until_kill = this.#nextKill();
  }

  #nextKill(): number {
    return this.#kills >= this.size.kills ? Infinity : Math.ceil(this.world.between(1, 280));
  }

  /** A core as it begins, from the disk alone: ports that end with it. */
  #core(place: 0 | 1): QueuePorts {
    const { world } = this;
    let dead = false;
    const kill = () => {
      dead = true;
      this.#kills++;
      this.#until_kill = this.#nextKill();
      throw new Killed();
    };
    const port = async <T>(call: () => Promise<T>): Promise<T> => {
      if (dead) throw new Killed();
      const ends = --this.#until_kill <= 0;
      if (ends && world.chance(0.5)) kill();
      const value = await call();
      if (dead) throw new Killed();
      if (ends) kill();
      return value;
    };
    const fresh = this.#cores++ % FRESH === 0;
    const disk = new LogDisk(this.log, fresh ? null : this.readers[place]);
    this.readers[place] = disk;
    const engines = this.#engines.map((engine): Engine => ({
      name: engine.name,
      submit: (asked) => port(() => engine.submit(asked)),
      states: (handles) => port(() => engine.states(handles)),
      logs: () => engine.logs(),
      save: (handle) => port(() => engine.save(handle)),
      cancel: (handle) => port(() => engine.cancel(handle)),
      capacity: () => port(() => engine.capacity()),
      find: (id, attempt) => port(() => engine.find(id, attempt)),
    }));
    return {
      clock: () => world.now,
      disk: { transact: (decide) => port(() => disk.transact(decide)) },
      engines,
      files: {
        prepare: (_, attempt, id) =>
          port(() => Promise.resolve({ id, attempt, argv: [], folder: "", env: {} })),
        look: (keys) =>
          port(() =>
            Promise.resolve(keys.map(({ job_id, attempt }) => world.look(job_id, attempt)))
          ),
        close: ({ job_id, attempt }) => port(() => Promise.resolve(world.close(job_id, attempt))),
      },
    };
  }

  /** A turn, sometimes beside another process's; null: the core was killed in it. */
  async #turn(ports: QueuePorts): Promise<Turn | null> {
    this.#turns++;
    try {
      if (!this.world.chance(0.03)) return await turn(ports);
      this.world.sometimes("two cores at once");
      this.#other ??= this.#core(1);
      const other = turn(this.#other).catch((error) => {
        if (!(error instanceof Killed)) throw error;
        this.#other = null;
      });
      const [own] = await Promise.all([turn(ports), other]);
      return own;
    } catch (error) {
      if (error instanceof Killed) return null;
      throw error;
    }
  }

  /** When the queue changes though nothing happens in the world. */
  #wake({ queue, seen }: Turn): number {
    const { now } = this.world;
    let wake = Infinity;
    for (const line of Object.values(queue.lines)) {
      for (const { not_before } of line) {
        if (not_before !== null && not_before > now) wake = Math.min(wake, not_before);
      }
    }
    for (const job of queue.under_way.values()) {
      const { stop, handle } = attemptOf(job)!;
      const view = seen.attempts.get(job.job_id);
      const begun = view?.files.lease === "fresh";
      const queued = view?.files.lease === "none" && view.engine?.state === "queued";
      if (stop !== null || handle === null || !begun && !queued) {
        wake = Math.min(wake, now + MINUTE);
      }
    }
    const down = [...queue.engines.values()].some(({ down }) => down !== null);
    if (down || queue.left_behind.size > 0) wake = Math.min(wake, now + MINUTE);
    if (queue.under_way.size === 0) return wake;
    const last = budgetRows(queue, now).filter(({ had, under_way }) => had + under_way > 0)
      .map(({ hours, spent, had }) => hours - spent - had);
    return Math.min(wake, now + Math.max(MINUTE, Math.min(...last) * HOUR / queue.under_way.size));
  }

  async run(): Promise<Simulated> {
    const { world } = this;
    let core: QueuePorts | null = null;
    let wake = 0;
    while (world.now < END) {
      if (!world.news && wake > world.now) {
        const next = Math.min(world.next, wake);
        if (next === Infinity) break;
        world.pass(next);
        continue;
      }
      world.news = false;
      core ??= this.#core(0);
      world.pass(world.now + world.between(1, 15) * SECOND);
      const turn = await this.#turn(core);
      if (world.violation !== null) throw world.violation;
      if (turn === null) {
        core = null;
        this.rules.pause();
        world.pass(world.now + world.between(1, world.chance(0.2) ? 3600 : 20) * SECOND);
        wake = world.now;
        continue;
      }
      this.rules.urgent(this.log.queue);
      wake = this.#wake(turn);
    }
    world.now = Math.max(world.now, END);
    checkEnd(world, this.log.queue);
    const states: Record<string, number> = {};
    for (const { state } of this.log.queue.jobs.values()) states[state] = (states[state] ?? 0) + 1;
    const { reached } = world;
    return {
      events: this.log.events.length,
      turns: this.#turns,
      kills: this.#kills,
      reached,
      states,
    };
  }
}

/** Runs a seed; a rule that is broken is a Violation. */
export async function simulate(seed: number, size: Size): Promise<Simulated> {
  return await new Simulation(seed, size).run();
}

export { Violation };
