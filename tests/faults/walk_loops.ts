/** Walks loops by turns until a budget ends. */
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, getPriority, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Broken, type Injected, type Loop, reachedStates, type Walk } from "./loop.ts";
import { type LoopState, newState } from "./state.ts";

/** A loop's turn lasts so long, or one point. */
const TURN_MS = 2_000;
/** As long as others have not met their end, a loop that has met its own has one turn in so many. */
const WHOLE_TURNS = 4;
/** No point takes so long. */
const POINT_MS = 180_000;
/** Nor so many times that where others have the machine, or go before. */
const BUSY_TIMES = 5;
/** A walk that has come so far has met each kind of its points: what it must reach it has reached. */
const DUE_POINTS = 2_000;
/** How long a walk of which a point did not end may take to be put away. */
const AWAY_MS = 10_000;

/** A point that broke an invariant, or a walk that proved nothing (then `injected` is null). */
export interface Failure {
  readonly loop: string;
  readonly seed: number;
  readonly point: number;
  readonly injected: Injected | null;
  readonly message: string;
  /** Seconds after the run began. */
  readonly seconds: number;
}

export interface Walked {
  readonly failures: readonly Failure[];
  readonly seconds: number;
}

interface Asked {
  readonly loops: readonly Loop[];
  readonly budget_ms: number;
  /** Where a loop begins that has no state. */
  readonly seed: number;
  /** Changed in place. */
  readonly states: Map<string, LoopState>;
  readonly onFailure: (failure: Failure) => void;
  /** After each turn. */
  readonly onTurn?: () => void;
  /** How long a point may take; default: three minutes. */
  readonly point_ms?: number;
  /** How long a turn lasts; default: two seconds. */
  readonly turn_ms?: number;
  /** Ends at the first failure. */
  readonly until_failure?: boolean;
  /** Ends where each loop has come to the end of a walk. */
  readonly until_whole?: boolean;
}

const MEMORY = "/dev/shm";
const ROOM_BYTES = 4e9;

/** In memory where there is room: no power is cut, so that waiting for a disk proves nothing. */
function placeOfWalks(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** A walk with a folder of its own, which goes with it, also where this process is told to end. */
export async function openWalk(loop: Loop, seed: number): Promise<Walk> {
  const folder = mkdtempSync(join(placeOfWalks(), `pare-faults-${loop.name}-`));
  const gone = () => rmSync(folder, { recursive: true, force: true });
  globalThis.addEventListener("unload", gone);
  const remove = () => {
    globalThis.removeEventListener("unload", gone);
    gone();
  };
  try {
    const walk = await loop.open(seed, folder);
    return {
      get points() {
        return walk.points!; // undefined stays so: nobody knows
      },
      at: (n) => walk.at(n),
      async [Symbol.asyncDispose]() {
        await walk[Symbol.asyncDispose]();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A point without an end: what it left under way is no ground for the next one. */
export class Endless extends Error {}

const isBusy = () => getPriority() > 0 || loadavg()[0]! > 2 * availableParallelism();

/** How long what takes so long may take where others have the machine, or go before. */
export const patience = (ms: number): number => isBusy() ? ms * BUSY_TIMES : ms;

/** The point's end, or an error where it has none. */
export async function inTime<T>(point: Promise<T>, most_ms = POINT_MS): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const refuse = (ms: number) =>
      reject(new Endless(`it did not come to its end in ${ms / 1000} s`));
    timer = setTimeout(() => {
      const ms = patience(most_ms);
      if (ms === most_ms) return refuse(ms);
      timer = setTimeout(() => refuse(ms), ms - most_ms);
    }, most_ms);
  });
  try {
    return await Promise.race([point, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What was counted since, added to what a loop's walk had reached. */
function addReached(state: LoopState, before: ReadonlyMap<string, number>): void {
  for (const [name, times] of reachedStates()) {
    const more = times - (before.get(name) ?? 0);
    if (more > 0) state.reached[name] = (state.reached[name] ?? 0) + more;
  }
}

/** One loop under way. */
class Walking {
  #walk: Walk | null = null;

  constructor(
    readonly loop: Loop,
    readonly state: LoopState,
    readonly fail: (failure: Omit<Failure, "seconds">) => void,
    readonly point_ms?: number,
  ) {}

  #failed(point: number, error: unknown): void {
    this.state.found++;
    this.state.last_failing = { seed: this.state.seed, point };
    this.fail({
      ...{ loop: this.loop.name, seed: this.state.seed, point },
      injected: error instanceof Broken ? error.injected : null,
      message: error instanceof Error ? error.message : String(error),
    });
  }

  async point(): Promise<void> {
    const { loop, state } = this;
    const n = state.next;
    const before = new Map(reachedStates());
    let met: Injected | undefined | null = null;
    let endless = false;
    try {
      this.#walk ??= await openWalk(loop, state.seed);
      met = await inTime(this.#walk.at(n), this.point_ms);
      state.points = this.#walk.points ?? null;
    } catch (error) {
      this.#failed(n, error);
      endless = error instanceof Endless;
    }
    addReached(state, before);
    state.date = new Date().toISOString().slice(0, 10);
    if (met !== undefined) {
      state.runs++;
      state.next = n + 1;
      if (state.next === DUE_POINTS) this.#checkReached(n, `${DUE_POINTS} points never reached`);
      if (endless) return await this.#putAway();
      // A walk that cannot even be opened would fail for ever at each point.
      if (this.#walk !== null) return;
    } else {
      this.#checkReached(n, "a complete walk never reached");
      state.complete++;
    }
    await this.end();
    Object.assign(state, { seed: state.seed + 1, next: 0, points: null, reached: {} });
  }

  #checkReached(n: number, said: string): void {
    const never = this.loop.reaches.filter((name) => (this.state.reached[name] ?? 0) === 0);
    if (never.length > 0) this.#failed(n, `${said} "${never.join('", "')}"`);
  }

  /** The next point begins anew: what one without an end still does would count as the next one's. */
  async #putAway(): Promise<void> {
    await inTime(this.end(), AWAY_MS).catch(() => {});
  }

  async end(): Promise<void> {
    const walk = this.#walk;
    this.#walk = null;
    await walk?.[Symbol.asyncDispose]();
  }
}

/** Walks the loops by turns, those with points to come first: each goes on where its state says. */
export async function walkLoops(asked: Asked): Promise<Walked> {
  const { loops, budget_ms, seed, states, turn_ms = TURN_MS } = asked;
  const began = performance.now();
  const failures: Failure[] = [];
  const fail = (failure: Omit<Failure, "seconds">) => {
    const timed = { ...failure, seconds: (performance.now() - began) / 1000 };
    failures.push(timed);
    asked.onFailure(timed);
  };
  const all = loops.map((loop) => {
    const state = states.get(loop.name) ?? newState(seed);
    states.set(loop.name, state);
    return new Walking(loop, state, fail, asked.point_ms);
  });
  const whole = new Map(all.map(({ loop, state }) => [loop.name, state.complete]));
  const ends = () =>
    asked.until_failure === true && failures.length > 0 ||
    asked.until_whole === true &&
      all.every(({ loop, state }) => state.complete > whole.get(loop.name)!);
  const goesOn = () => performance.now() - began < budget_ms && !ends();
  try {
    // Each loop has a point, however slow the machine is.
    let round = 0;
    do {
      const behind = all.filter(({ state }) => state.complete === 0);
      const turns = round++ % WHOLE_TURNS === 0 || behind.length === 0 ? all : behind;
      for (const one of turns) {
        const turn = performance.now();
        do await one.point(); while (goesOn() && performance.now() - turn < turn_ms);
        asked.onTurn?.();
      }
    } while (goesOn());
  } finally {
    for (const one of all) await one.end();
  }
  return { failures, seconds: (performance.now() - began) / 1000 };
}
