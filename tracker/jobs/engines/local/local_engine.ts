/**
 * The slots of this machine. Each attempt's wrapper is a process that goes on without whoever submitted
 * it; which slots it holds stands in the engine's books, a file an attempt, for all who submit here.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  type Attempt,
  type Engine,
  EngineError,
  type EngineState,
  type Handle,
  type Slots,
} from "../../../../core/jobs/engine.ts";
import { startChild } from "../../../../python-backends/child/start_child.ts";
import { withFileLock } from "../../../../python-backends/file_lock.ts";
import { isAlive, thisProcess } from "../../../../python-backends/process_owner.ts";
import { readWhole, writeWhole } from "../../../../python-backends/whole_file.ts";
import {
  type Asked,
  askFor,
  attemptName,
  attemptPaths,
  readAsked,
  readLog,
  readRequest,
  readResult,
  writeRequest,
} from "../../attempt/attempt_folder.ts";
import { endOf, settled } from "../../attempt/attempt_state.ts";
import { livesHere, readLease } from "../../attempt/lease.ts";
import { hasWrapper } from "../../attempt/remains.ts";
import { minus, NO_SLOTS, plus } from "../../../../core/jobs/slots.ts";
import { lacks } from "../slots.ts";
import { wrapperWords } from "../wrapper_words.ts";
import type { Devices } from "./devices.ts";
import { SpareWrapper } from "./spare_wrapper.ts";

/** A line of the books: an attempt that was started, and what it holds until its processes are gone. */
const Entry = z.object({
  folder: z.string(),
  slots: z.object({ cpu: z.number(), gpu: z.number(), memory_gb: z.number().nullable() }),
  cards: z.array(z.string()),
  threads: z.array(z.string()).optional().describe("absent: an entry of before"),
  started_by: z.object({ pid: z.int(), start: z.string() }),
  started: z.number().describe("when, in milliseconds"),
  wrapper: z.object({ pid: z.int(), start: z.string() }).optional().describe(
    "one that had waited for a folder; absent: one whose words name it",
  ),
});
type Entry = z.infer<typeof Entry>;

/** Milliseconds in which who writes a line starts the wrapper. */
const STARTING_MS = 1000;

/** Milliseconds after which slots that another process gave back are seen. */
const LOOK_MS = 250;

/** Whether an attempt that was started still holds its slots. */
function holds({ folder, started, started_by, wrapper }: Entry): boolean {
  if (endOf(folder) !== null) return false;
  const lease = readLease(folder);
  if (lease !== null) return livesHere(lease) !== false;
  if (Date.now() - started < STARTING_MS && isAlive(started_by)) return true;
  return wrapper === undefined ? hasWrapper(folder) : isAlive(wrapper);
}

export class LocalEngine implements Engine, Disposable {
  readonly here = true;
  /** Submitted here and not begun, in their order; their variables are kept nowhere else. */
  readonly #waiting = new Map<Handle, Attempt>();
  /** Cards of what was started here, and those that are gone, until this process ends. */
  readonly #given = new Map<Handle, readonly string[]>();
  readonly #gone = new Set<string>();
  readonly #spare: SpareWrapper;
  #looking: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** `books`: a folder that all have who submit jobs on this machine. */
  constructor(readonly books: string, readonly devices: Devices, readonly name = "local") {
    mkdirSync(books, { recursive: true });
    this.#spare = new SpareWrapper(join(books, "spare.log"));
  }

  /** Who is to run jobs keeps a wrapper ready for the next one. */
  check(folder: string | null): Promise<null> {
    if (folder !== null) this.#spare.make();
    return Promise.resolve(null);
  }

  async submit(attempt: Attempt): Promise<Handle> {
    const { id, folder, slots } = attempt;
    attemptName(attempt);
    const lacking = lacks(slots, this.#slots);
    if (lacking !== null) {
      throw new EngineError(
        "refused",
        `Cannot run ${id} here: it needs ${lacking} on this machine`,
      );
    }
    writeRequest(attempt);
    if ((await this.#state(folder)).state === "unknown") this.#waiting.set(folder, attempt);
    await this.#startWhatFits();
    return folder;
  }

  async states(handles: readonly Handle[]): Promise<ReadonlyMap<Handle, EngineState>> {
    await this.#startWhatFits();
    const states = handles.map(async (one) => [one, await this.#state(one)] as const);
    return new Map(await Promise.all(states));
  }

  async #state(folder: Handle): Promise<EngineState> {
    const end = await settled(folder);
    if (end !== null) {
      this.#avoid(readResult(folder)?.lost_cards ?? []);
      return end;
    }
    if (readAsked(folder) === "cancel") this.#waiting.delete(folder);
    const asked = this.#waiting.get(folder);
    if (asked !== undefined) {
      const { free } = await this.capacity();
      const lacking = lacks(asked.slots, free);
      return {
        state: "queued",
        reason: lacking === null ? null : `it needs ${lacking} that are free`,
      };
    }
    const lease = readLease(folder);
    if (lease === null) return this.#notBegun(folder);
    return livesHere(lease) === null
      ? { state: "unknown", reason: `it was begun on ${lease.host}` }
      : { state: "running" };
  }

  #notBegun(folder: Handle): EngineState {
    if (this.#entries().some((one) => one.folder === folder)) {
      return { state: "queued", reason: "it is being started" };
    }
    if (readAsked(folder) === "cancel") return { state: "ended", how: "cancelled", code: null };
    return {
      state: "unknown",
      reason: "nobody here has it: who submitted it ended before it began",
    };
  }

  logs(handle: Handle, from: number) {
    return Promise.resolve(readLog(handle, from));
  }

  /** One that has not begun has nothing to save: it is taken back. */
  save(handle: Handle): Promise<void> {
    return this.#ask(handle, this.#waiting.has(handle) ? "cancel" : "save");
  }

  cancel(handle: Handle): Promise<void> {
    return this.#ask(handle, "cancel");
  }

  // deno-lint-ignore require-await -- what it throws is the promise's
  async #ask(handle: Handle, asked: Asked): Promise<void> {
    askFor(handle, asked);
    if (asked === "cancel") this.#waiting.delete(handle);
  }

  avoid(handle: Handle): void {
    this.#avoid(this.#given.get(handle) ?? []);
  }

  #avoid(cards: readonly string[]): void {
    for (const card of cards) if (this.devices.cards.includes(card)) this.#gone.add(card);
  }

  /** What there is, but for cards that are gone. */
  get #slots(): Slots {
    const { slots } = this.devices;
    return { ...slots, gpu: slots.gpu - this.#gone.size };
  }

  capacity() {
    const { machine } = this.devices;
    const total = this.#slots;
    const taken = this.#entries().reduce((sum, { slots }) => plus(sum, slots), NO_SLOTS);
    return Promise.resolve({ total, free: minus(total, taken), largest: total, machine });
  }

  find(id: string, attempt: number): Promise<Handle[]> {
    const begun = this.#entries().map(({ folder }) => folder);
    const known = new Set([...begun, ...this.#waiting.keys()]);
    return Promise.resolve([...known].filter((folder) => {
      const asked = readRequest(folder);
      return asked?.id === id && asked.attempt === attempt;
    }));
  }

  /** What was started and still holds its slots. */
  #entries(): Entry[] {
    return this.#names().flatMap((name) => this.#entry(name) ?? []).filter(holds);
  }

  /** Null also where it is damaged: the attempt's own files tell of it all the same. */
  #entry(name: string): Entry | null {
    return Entry.safeParse(readWhole(join(this.books, name))).data ?? null;
  }

  #names(): string[] {
    return readdirSync(this.books).filter((name) => name.endsWith(".json"));
  }

  /** Starts in order what has room, for all who submit here one after the other. */
  #startWhatFits(): Promise<void> {
    const next = this.#last.then(() =>
      this.#waiting.size === 0
        ? undefined
        : withFileLock(join(this.books, "lock"), {}, () => this.#startSome())
    );
    this.#last = next.catch(() => {}); // who asked hears of it
    return next;
  }

  async #startSome(): Promise<void> {
    for (const name of this.#names()) {
      const entry = this.#entry(name);
      if (entry !== null && !holds(entry)) rmSync(join(this.books, name), { force: true });
    }
    let { free } = await this.capacity();
    for (const attempt of [...this.#waiting.values()]) {
      if (lacks(attempt.slots, free) !== null) continue;
      if (this.#isOver(attempt.folder)) this.#waiting.delete(attempt.folder);
      else this.#start(attempt);
      ({ free } = await this.capacity());
    }
    clearTimeout(this.#looking);
    if (this.#waiting.size === 0) return;
    this.#looking = setTimeout(() => void this.#startWhatFits().catch(() => {}), LOOK_MS);
    this.#looking.unref();
  }

  /** Whether another process has begun it or taken it back meanwhile. */
  #isOver(folder: Handle): boolean {
    return readAsked(folder) === "cancel" || endOf(folder) !== null || readLease(folder) !== null ||
      this.#entries().some((one) => one.folder === folder);
  }

  /** Threads that a job is kept to, so that it neither slows others down nor counts theirs; empty: to none. */
  #threadsFor(cpu: number): string[] {
    const { threads = [] } = this.devices;
    const taken = new Set(this.#entries().flatMap((entry) => entry.threads ?? []));
    const own = threads.filter((thread) => !taken.has(thread)).slice(0, Math.ceil(cpu));
    return cpu > 0 && own.length === Math.ceil(cpu) && own.length < threads.length ? own : [];
  }

  #start(attempt: Attempt): void {
    const { folder, slots } = attempt;
    const taken = new Set(this.#entries().flatMap(({ cards }) => cards));
    const cards = this.devices.cards.filter((card) => !taken.has(card) && !this.#gone.has(card))
      .slice(0, slots.gpu);
    this.#given.set(folder, cards);
    const threads = this.#threadsFor(slots.cpu);
    // Before it begins: one who is killed between the two has its slots held too long, not given twice.
    const spare = threads.length === 0 ? this.#spare.take() : null;
    const entry: Entry = {
      ...{ folder, slots, cards, threads },
      ...{ started_by: thisProcess(), started: Date.now() },
      ...(spare === null ? {} : { wrapper: spare.owner }),
    };
    writeWhole(join(this.books, `${attemptName(attempt)}.json`), entry);
    const visible = this.devices.cards.length === 0
      ? {}
      : { CUDA_VISIBLE_DEVICES: cards.join(",") };
    const env = { ...attempt.env, ...visible };
    spare?.tell({ folder, env });
    const child = spare?.child ?? startChild({
      argv: [
        ...threads.length === 0 ? [] : ["taskset", "-c", threads.join(",")],
        ...wrapperWords(folder),
      ],
      env,
      log: attemptPaths(folder).log,
      ...{ append: true, output: "log", ends_itself: true },
    });
    child.unref(); // it goes on without this process
    this.#waiting.delete(folder);
    void child.exited.then(() => this.#startWhatFits()).catch(() => {});
  }

  /** What was not begun is nobody's from now on; what runs goes on. */
  [Symbol.dispose](): void {
    clearTimeout(this.#looking);
    this.#spare[Symbol.dispose]();
    this.#waiting.clear();
  }
}
