import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CallRequest,
  type Engine,
  EngineError,
  type EngineState,
  type Outcome,
  type Slots,
} from "../../../core/mod.ts";
import type { RunOptions } from "../../../python-backends/client.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { PROJECT_ROOT } from "../../ground/home.ts";
import { readResult } from "../attempt/attempt_folder.ts";
import { closeAttempt, LEASE_MS, type watchLeases } from "../attempt/lease.ts";
import { Heard, Said, say, type Told, wirePaths, type WorkerSettings } from "./worker_wire.ts";

const PROGRAM = fileURLToPath(new URL("./serve_calls.ts", import.meta.url));

/** A call that a worker is to run: of a trial, or the interpreter of an environment. */
export interface PooledCall {
  /** Null: only the interpreter is asked for. */
  readonly request: CallRequest | null;
  readonly options: RunOptions;
  readonly timed: boolean;
  /** Workers that were lost with it. */
  lost: number;
  /** Settles it, once. */
  readonly end: (outcome: Outcome<unknown>) => void;
}

export interface WorkerPlace {
  readonly engine: Engine;
  readonly id: string;
  /** The study's, with a folder for each worker. */
  readonly run_folder: string;
  readonly settings: WorkerSettings;
  readonly slots: Slots;
}

/** One allocation of an engine, which runs calls until it is ended or lost. */
export class StudyWorker {
  readonly folder: string;
  readonly #heard: Heard<Said>;
  #submitted = false;
  #calls = 0;
  #ended = false;
  /** What it is; null: it has not begun. */
  is: { readonly host: string; readonly machine: string } | null = null;
  /** What it runs. */
  call: PooledCall | null = null;
  /** How it stands in its engine's line. */
  state: EngineState | null = null;
  /** Why it ended, where its card is gone; null: it has it. */
  card_lost: string | null = null;
  /** Why nothing more is heard of it: another pare's words, or damaged ones; null: it is heard. */
  #garbled: string | null = null;
  #unknown_since: number | null = null;

  constructor(readonly place: WorkerPlace, readonly number: number, readonly attempt: number) {
    this.folder = join(place.run_folder, `${number}-${attempt}`);
    this.#heard = new Heard(wirePaths(this.folder).said, Said);
  }

  /** Gives it to the engine; one that does not answer is asked again. */
  async submit(): Promise<void> {
    if (this.#submitted) return;
    const { engine, id, settings, slots } = this.place;
    const paths = wirePaths(this.folder);
    writeWhole(paths.settings, settings);
    for (const path of [paths.calls, paths.said]) {
      Deno.writeTextFileSync(path, "", { append: true });
    }
    const config = join(PROJECT_ROOT, "deno.json");
    const deno = Deno.execPath();
    await engine.submit({
      ...{ id: `${id}-w${this.number}`, attempt: this.attempt, folder: this.folder, slots },
      argv: [deno, "run", "--quiet", "--no-check", "-A", "--config", config, PROGRAM, this.folder],
      env: { PARE_HOME: settings.home },
      seconds: null,
    });
    this.#submitted = true;
  }

  /** How its engine says that it stands. */
  hear(state: EngineState | null): void {
    this.state = state;
    if (state?.state !== "unknown") this.#unknown_since = null;
    else this.#unknown_since ??= performance.now();
  }

  get isFree(): boolean {
    return this.is !== null && this.call === null && !this.#ended && this.#garbled === null;
  }

  #tell(told: Told): void {
    say(wirePaths(this.folder).calls, told);
  }

  begin(call: PooledCall): void {
    this.call = call;
    this.#calls += 1;
    const { request, options: { environment, stallMs, sampleMs } } = call;
    this.#tell(
      request === null ? { python_of: this.#calls, environment } : {
        ...{ run: this.#calls, request, environment },
        ...{ stall_ms: stallMs ?? null, sample_ms: sampleMs ?? null },
      },
    );
  }

  /** Asks for the end of what it runs. */
  stop(): void {
    if (this.call !== null) this.#tell({ stop: this.#calls });
  }

  /** Hears what it said since; gives whether there was anything. */
  look(): boolean {
    if (this.#garbled !== null) return false;
    let said: Said[];
    try {
      said = this.#heard.look();
    } catch (error) {
      this.#garbled = (error as Error).message;
      return true;
    }
    for (const one of said) this.#take(one);
    return said.length > 0;
  }

  #take(said: Said): void {
    if ("hello" in said) {
      this.is = said.hello;
      return;
    }
    if ("card_lost" in said) {
      this.card_lost = said.card_lost;
      return;
    }
    if (said.call !== this.#calls || this.call === null) return; // of one that nobody waits for
    const { options, end } = this.call;
    if ("event" in said) options.onEvent?.(said.event);
    else if ("sample" in said) options.onSample?.(said.sample);
    else if ("log" in said) options.onLog?.(said.log);
    else {
      this.call = null;
      const { spans } = said;
      end(
        "failure" in said
          ? { ok: false, failure: said.failure, spans }
          : { ok: true, value: said.value, spans },
      );
    }
  }

  /** Why it is gone, with all that it had started; null: it waits or runs. */
  async lost(leases: ReturnType<typeof watchLeases>): Promise<string | null> {
    if (!this.#submitted) return null;
    if (readResult(this.folder) !== null) return this.#why("it was ended there");
    if (this.#garbled !== null) await this.cancel(); // what it runs, another one will
    const unknown = performance.now() - (this.#unknown_since ?? Infinity);
    const over = this.state?.state === "ended" || unknown > LEASE_MS;
    const lease = leases(this.folder);
    if (lease === "stale") {
      if (over) return this.#why("it was killed");
      await this.cancel(); // its engine has not seen that nobody runs it
    } else if (over && lease !== "fresh" && closeAttempt(this.folder)) {
      return this.#why("it never began");
    }
    return null;
  }

  #why(usual: string): string {
    this.look(); // what it said before
    const said = this.state !== null && "reason" in this.state ? this.state.reason : null;
    const where = this.is === null ? "" : ` on ${this.is.host}`;
    return `worker ${this.number}${where} was lost: ${
      this.card_lost ?? this.#garbled ?? said ?? usual
    }`;
  }

  /** Asks it to end; what it runs is stopped. */
  end(): void {
    if (this.#ended || !this.#submitted) return;
    this.#ended = true;
    this.#tell({ end: true });
  }

  async cancel(): Promise<void> {
    try {
      if (this.#submitted) await this.place.engine.cancel(this.folder);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error; // it ends by itself, without the study's lease
    }
  }

  get isOver(): boolean {
    return !this.#submitted || readResult(this.folder) !== null || this.state?.state === "ended";
  }
}
