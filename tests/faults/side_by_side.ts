/** Walks loops in processes of their own, several at once: a night's budget holds all of them. */
import { rmSync } from "node:fs";
import { execa } from "execa";
import type { Loop } from "./loop.ts";
import { type LoopState, newState, readStates, writeStates } from "./state.ts";

const SCRIPT = `${import.meta.dirname}/faults.ts`;
/** What a process may say beside its table. */
const TOLD = /^(FAILED | {2}again: | {2}more of |skipped: )/;
/** A turn: long beside what a walk takes to open, short beside a night. */
const [LEAST_TURN_MS, MOST_TURN_MS] = [20_000, 300_000];

interface Asked {
  readonly loops: readonly Loop[];
  /** Processes at once. */
  readonly jobs: number;
  readonly budget_ms: number;
  /** Where a loop begins that has no state. */
  readonly seed: number;
  /** Where the states are kept; each process keeps its own beside it. */
  readonly path: string;
  /** Changed in place. */
  readonly states: Map<string, LoopState>;
  readonly tell: (line: string) => void;
}

export class SideBySide {
  readonly #began = performance.now();
  /** Turns of this run by the loops' names. */
  readonly #turns = new Map<string, number>();
  readonly #walking = new Set<string>();

  constructor(readonly asked: Asked) {}

  #left(): number {
    return this.asked.budget_ms - (performance.now() - this.#began);
  }

  /** Those whose walk was never whole come first, and of these who had the fewest turns. */
  #next(): Loop | null {
    const { loops, states } = this.asked;
    const rank = ({ name }: Loop) =>
      [states.get(name)?.complete ?? 0, this.#turns.get(name) ?? 0] as const;
    const idle = loops.filter(({ name }) => !this.#walking.has(name)).sort((a, b) => {
      const [one, other] = [rank(a), rank(b)];
      return one[0] - other[0] || one[1] - other[1];
    });
    return idle[0] ?? null;
  }

  /** How far the processes are, as they have told it. */
  keep(): void {
    const { path, states } = this.asked;
    for (const name of this.#walking) {
      const state = readStates(this.#own(name)).get(name);
      if (state !== undefined) states.set(name, state);
    }
    writeStates(path, states);
  }

  #own(name: string): string {
    return `${this.asked.path}.${name}`;
  }

  async #turn({ name }: Loop): Promise<void> {
    const { loops, jobs, budget_ms, seed, states, tell } = this.asked;
    const share = budget_ms * jobs / loops.length;
    const turn_ms = Math.max(LEAST_TURN_MS, Math.min(MOST_TURN_MS, share));
    this.#walking.add(name);
    this.#turns.set(name, (this.#turns.get(name) ?? 0) + 1);
    const own = this.#own(name);
    writeStates(own, new Map([[name, states.get(name) ?? newState(seed)]]));
    const seconds = Math.ceil(Math.min(turn_ms, this.#left()) / 1000);
    const words = ["--loop", name, "--budget", `${seconds}`, "--until-whole", "--state", own];
    const walk = execa(Deno.execPath(), ["run", "--quiet", "--allow-all", SCRIPT, ...words], {
      ...{ reject: false, lines: true, stderr: "ignore", buffer: false },
    });
    for await (const line of walk) if (TOLD.test(line)) tell(line);
    const { exitCode } = await walk;
    if (exitCode !== 0 && exitCode !== 1) tell(`the process of ${name} ended with ${exitCode}`);
    this.keep();
    rmSync(own, { force: true });
    this.#walking.delete(name);
  }

  async #worker(): Promise<void> {
    for (let loop = this.#next(); loop !== null && this.#left() > 0; loop = this.#next()) {
      await this.#turn(loop);
    }
  }

  /** Ends with the budget, but for the points that are under way then. @returns seconds */
  async walk(): Promise<number> {
    await Promise.all(Array.from({ length: this.asked.jobs }, () => this.#worker()));
    return (performance.now() - this.#began) / 1000;
  }
}
