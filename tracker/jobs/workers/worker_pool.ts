/**
 * The workers of one study on an engine: each is an allocation that is held while the study runs, and runs
 * one call after another, so that no stage waits in a cluster's line for itself. One that is lost is
 * submitted anew, and its call run again.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EngineError, type EngineState, type Failure, type Outcome } from "../../../core/mod.ts";
import { renewLease, takeLease, watchLeases } from "../attempt/lease.ts";
import { type PooledCall, StudyWorker, type WorkerPlace } from "./study_worker.ts";
import { pauses } from "./worker_wire.ts";

export interface PoolOptions extends WorkerPlace {
  readonly count: number;
  /** Told of what makes one wait, and of a worker that was lost. */
  readonly say: (line: string) => void;
  /** How often one call may lose its worker. */
  readonly losses?: number;
}

/** Milliseconds between two questions to the engine, which grow while nothing changes. */
const ASKED = { first: 500, longest: 15_000 };
/** Milliseconds between two looks at the files that say of a worker that it is gone. */
const LOOK_MS = 500;
/** Milliseconds in which workers end by themselves, and in which the engine ends them. */
const END_MS = 10_000;
/** Workers in a row that ended before they ran a call: then none will. */
const STILLBORN = 3;

function failure(kind: Failure["kind"], message: string, hint: string | null): Outcome<never> {
  return { ok: false, failure: { kind, message, hint, phase: null }, spans: [] };
}

/** Removes the folders of studies that are gone. */
function forgetOld(root: string): void {
  const leases = watchLeases();
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    if (/^run-/.test(name) && leases(join(root, name)) === "stale") {
      rmSync(join(root, name), { recursive: true, force: true });
    }
  }
}

export class WorkerPool {
  readonly #workers: StudyWorker[] = [];
  readonly #waiting: PooledCall[] = [];
  readonly #leases = watchLeases();
  #lease: Disposable | null = null;
  #going: Promise<void> | null = null;
  #closed = false;
  /** Why nothing runs any more; null: it does. */
  #broken: string | null = null;
  #stillborn = 0;
  #wake: () => void = () => {};
  #told = "";
  /** Of all that is timed: that of the first worker. */
  #machine: string | null = null;

  constructor(readonly options: PoolOptions) {}

  /** Runs a call on one of the workers, of which the first call asks for all. */
  run(call: Omit<PooledCall, "end" | "lost">): Promise<Outcome<unknown>> {
    const { signal } = call.options;
    const cancelled = () => failure("cancelled", "it was cancelled", null);
    return new Promise((resolve) => {
      if (this.#closed || signal?.aborted) return resolve(cancelled());
      if (this.#broken !== null) return resolve(this.#cannotWork());
      const own: PooledCall = { ...call, lost: 0, end };
      const abort = () => this.#stop(own, cancelled);
      function end(outcome: Outcome<unknown>) {
        signal?.removeEventListener("abort", abort);
        resolve(outcome);
      }
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.push(own);
      this.#going ??= this.#go();
      this.#wake();
    });
  }

  #cannotWork(): Outcome<never> {
    const { name } = this.options.engine;
    return failure("crash", `Cannot work on ${name}: ${this.#broken}`, null);
  }

  #stop(call: PooledCall, cancelled: () => Outcome<never>): void {
    const at = this.#waiting.indexOf(call);
    if (at >= 0) {
      this.#waiting.splice(at, 1);
      return call.end(cancelled());
    }
    const worker = this.#workers.find((one) => one.call === call);
    worker?.stop();
    const timer = setTimeout(() => {
      if (worker?.call !== call) return;
      worker.call = null; // it heeds nothing: what is left of it ends with its allocation
      void worker.cancel();
      call.end(cancelled());
    }, END_MS);
    timer.unref();
  }

  #begin(): void {
    const { run_folder, count } = this.options;
    forgetOld(join(run_folder, ".."));
    Deno.mkdirSync(run_folder, { recursive: true });
    takeLease(run_folder);
    this.#lease = renewLease(run_folder);
    for (let n = 1; n <= count; n++) this.#workers.push(new StudyWorker(this.options, n, 1));
  }

  async #go(): Promise<void> {
    this.#begin();
    const pause = pauses();
    let [ask, look] = [0, 0];
    let asked: number = ASKED.first;
    while (!this.#closed && this.#broken === null) {
      try {
        const heard = this.#workers.map((one) => one.look()).includes(true);
        if (performance.now() >= ask) {
          const changed = await this.#ask();
          asked = changed ? ASKED.first : Math.min(1.5 * asked, ASKED.longest);
          ask = performance.now() + asked;
        }
        if (performance.now() >= look) {
          if (await this.#replaceLost()) ask = 0; // another one is to be submitted
          look = performance.now() + LOOK_MS;
        }
        this.#handOut();
        await this.#pause(pause.next(heard));
      } catch (error) {
        this.#failAll(error instanceof Error ? error.message : String(error));
      }
    }
  }

  /** Waits, and no longer than until there is another call. */
  async #pause(ms: number): Promise<void> {
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    const timer = setTimeout(woken.resolve, ms);
    await woken.promise;
    clearTimeout(timer);
  }

  /** Submits what is not, and looks how all stand; gives whether that changed. */
  async #ask(): Promise<boolean> {
    const { say } = this.options;
    const wordOf = () => JSON.stringify(this.#workers.map(({ state, is }) => [state, is !== null]));
    const before = wordOf();
    try {
      for (const one of this.#workers) await one.submit();
      await this.#askStates();
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind === "refused") throw error;
      if (this.#told !== error.message) say(`note: ${error.message}`);
      this.#told = error.message; // it may answer later
    }
    this.#tellWaiting();
    return before !== wordOf();
  }

  async #askStates(): Promise<void> {
    const workers = [...this.#workers];
    const states = await this.options.engine.states(workers.map(({ folder }) => folder));
    for (const one of workers) one.hear(states.get(one.folder) ?? null);
  }

  /** Why the study stands still, once for each reason. */
  #tellWaiting(): void {
    const { engine, say } = this.options;
    if (this.#workers.some(({ is }) => is !== null)) return;
    const reasons = this.#workers.map(({ state }) =>
      (state as Extract<EngineState, { state: "queued" }> | null)?.reason ?? ""
    ).filter((one) => one !== "");
    const line = `waiting for a machine of ${engine.name}${
      reasons.length === 0 ? "" : `: ${[...new Set(reasons)].join(", ")}`
    }`;
    if (this.#told !== line) say(line);
    this.#told = line;
  }

  async #replaceLost(): Promise<boolean> {
    let lost = false;
    for (const worker of [...this.#workers]) {
      const why = await worker.lost(this.#leases);
      if (why !== null) this.#replace(worker, why);
      lost ||= why !== null;
    }
    return lost;
  }

  #replace(worker: StudyWorker, why: string): void {
    const { call, is } = worker;
    if (worker.card_lost !== null) this.options.engine.avoid?.(worker.folder);
    worker.call = null;
    this.#workers[this.#workers.indexOf(worker)] = new StudyWorker(
      this.options,
      worker.number,
      worker.attempt + 1,
    );
    this.#stillborn = is === null ? this.#stillborn + 1 : 0;
    if (this.#stillborn >= STILLBORN) throw new Error(`${STILLBORN} workers did not begin; ${why}`);
    this.options.say(`note: ${why}; another one is asked for`);
    if (call !== null) this.#again(call, why);
  }

  /** Runs a call again whose worker is gone, unless it is what ends them. */
  #again(call: PooledCall, why: string): void {
    call.lost += 1;
    call.options.onEvent?.({ event: "alert", condition: "worker_lost", evidence: why });
    const what = `Cannot ${call.request?.call ?? "find an interpreter"}: ${why}`;
    if (/OUT_OF_MEMORY/.test(why)) {
      return call.end(failure("out_of_memory", what, "Ask for more memory for each worker"));
    }
    if (call.options.signal?.aborted) return call.end(failure("cancelled", what, null));
    if (call.lost < (this.options.losses ?? 3)) return void this.#waiting.unshift(call);
    call.end(failure("crash", `${what}; it was tried ${call.lost} times`, null));
  }

  #handOut(): void {
    for (const worker of this.#workers) this.#machine ??= worker.is?.machine ?? null;
    const kept = new Set<string>();
    for (const call of [...this.#waiting]) {
      const worker = this.#workers.find((one) =>
        one.isFree && !kept.has(one.is!.host) && this.#mayRun(one, call)
      );
      if (worker === undefined) {
        this.#refuseOtherMachines(call);
        if (call.timed) this.#keepOne(kept);
        continue;
      }
      this.#waiting.splice(this.#waiting.indexOf(call), 1);
      worker.begin(call);
    }
  }

  /** What is timed has a machine of the study's kind for itself. */
  #mayRun(worker: StudyWorker, { timed }: PooledCall): boolean {
    const beside = this.#workers.filter(({ is, call }) =>
      call !== null && is?.host === worker.is?.host
    );
    if (timed) return beside.length === 0 && worker.is?.machine === this.#machine;
    return !beside.some(({ call }) => call!.timed);
  }

  /** Keeps the machine on which the least is under way from what comes later: soon a timing is alone there. */
  #keepOne(kept: Set<string>): void {
    const right = this.#workers.filter(({ is }) => is?.machine === this.#machine);
    const busy = Map.groupBy(right, ({ is }) => is!.host);
    const under_way = (host: string) => busy.get(host)!.filter(({ call }) => call !== null).length;
    const [least] = [...busy.keys()].filter((host) => !kept.has(host))
      .sort((a, b) => under_way(a) - under_way(b));
    if (least !== undefined) kept.add(least);
  }

  /** Where every worker stands on another kind of machine nothing would be timed for ever. */
  #refuseOtherMachines(call: PooledCall): void {
    const kinds = this.#workers.map(({ is }) => is?.machine ?? null);
    if (!call.timed || kinds.includes(null) || kinds.includes(this.#machine)) return;
    this.#waiting.splice(this.#waiting.indexOf(call), 1);
    const others = [...new Set(kinds)].join(", ");
    call.end(failure(
      "missing_environment",
      `Cannot time on ${this.options.engine.name} any more as the study was timed on ` +
        `${this.#machine} and its workers now are ${others}: figures of two kinds of machine are not ranked`,
      "Name an engine whose machines are all of one kind",
    ));
  }

  #failAll(why: string): void {
    this.#broken = why;
    const calls = [...this.#waiting.splice(0), ...this.#workers.flatMap(({ call }) => call ?? [])];
    for (const worker of this.#workers) worker.call = null;
    for (const call of calls) call.end(this.#cannotWork());
  }

  /** Ends the workers and gives their allocations back. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake();
    await this.#going;
    for (const worker of this.#workers) worker.end();
    const waiting = this.#workers.filter(({ is }) => is === null);
    await Promise.all(waiting.map((one) => one.cancel()));
    if (!await this.#untilOver()) {
      await Promise.all(this.#workers.filter((one) => !one.isOver).map((one) => one.cancel()));
      await this.#untilOver();
    }
    this.#failAll("the study has ended");
    this.#lease?.[Symbol.dispose]();
    if (this.#workers.every((one) => one.isOver)) {
      rmSync(this.options.run_folder, { recursive: true, force: true });
    }
  }

  async #untilOver(): Promise<boolean> {
    for (let looks = 0; looks < END_MS / 200; looks++) {
      if (this.#workers.every((one) => one.isOver)) return true;
      if (looks % 5 === 4) await this.#askStates().catch(() => {}); // down: its files tell, too
      await delay(200);
    }
    return false;
  }
}
