import { type JournalRecord, UsageError } from "../../../core/mod.ts";
import { journalFault, keepAcknowledged } from "./rescue.ts";
import { awaitTurn, tryTurn } from "./turn.ts";
import { makeGatherer, type PointGatherer } from "../points/gather.ts";
import { journalInfo } from "./reader.ts";
import { encodeLine, readEntry } from "./record_line.ts";
import { writeAll } from "../../../python-backends/whole_file.ts";
import { storageError } from "../../ground/storage/storage_error.ts";

const NEWLINE = 0x0a;
const TAIL = 1 << 16;

/** A journal file that is open for appending. */
export interface Journal {
  readonly path: string;
  /** Bytes that are on disk for certain: every record before this place is durable. */
  readonly end: number;
  /** Where the torn tail that was found at opening is kept; null where there was none. */
  readonly torn: string | null;
  /** Resolves when the record is on disk; records appended meanwhile share one fdatasync. */
  append(record: JournalRecord): Promise<void>;
  /** The same for several records, of which a failed write keeps none. */
  appendAll(records: readonly JournalRecord[]): Promise<void>;
  /**
   * Where points are gathered for the next write, and when they are on disk. What is appended in
   * between gets a gatherer of its own behind it, so that everything stays in order.
   */
  gather(): Gathering;
  /** Throws where the file is not the one any more that is written here: removed, replaced, cut. */
  check(): void;
  /** Waits for what was appended, then closes the file. */
  close(): Promise<void>;
}

export interface Gathering {
  readonly points: PointGatherer;
  readonly durable: Promise<void>;
}

interface Waiting {
  /** Asked when it is written, as points may be added until then. */
  lines: () => readonly Uint8Array[];
  gathering: Gathering | null;
  resolve: () => void;
  reject: (error: unknown) => void;
}

function readAt(file: Deno.FsFile, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  file.seekSync(offset, Deno.SeekMode.Start);
  for (let at = 0; at < length;) {
    const read = file.readSync(bytes.subarray(at));
    if (read === null) break;
    at += read;
  }
  return bytes;
}

/**
 * Place behind the last complete record. What follows was never acknowledged: the writer died in
 * the middle of it. Reads backwards, so that a long journal opens as fast as a short one.
 */
function completeEnd(file: Deno.FsFile, size: number): number {
  let window = Math.min(size, TAIL);
  for (;;) {
    const bytes = readAt(file, size - window, window);
    const newline = bytes.lastIndexOf(NEWLINE);
    if (newline >= 0 || window === size) return size - window + lastWhole(bytes, newline + 1);
    window = Math.min(size, window * 4);
  }
}

/** Keeps a last record that lacks only its newline, or has another byte in its place. */
function lastWhole(bytes: Uint8Array, at: number): number {
  if (at === bytes.length) return at;
  return readEntry(bytes, at, 0)?.kind === "record" ? bytes.length : at;
}

/** Where a journal's last complete record ends, and the bytes of the file: more, where it is torn. */
export function journalEnd(path: string): { readonly end: number; readonly size: number } {
  using file = openedBefore(path);
  return ends(file);
}

function ends(file: Deno.FsFile): { end: number; size: number } {
  const size = file.statSync().size;
  if (size === 0) return { end: 0, size };
  const whole = readAt(file, size - 1, 1)[0] === NEWLINE; // as nearly always
  return { end: whole ? size : completeEnd(file, size), size };
}

/** Opens a journal that was there; what was deleted under a store that is open is told. */
function openedBefore(path: string): Deno.FsFile {
  journalInfo(path);
  try {
    return Deno.openSync(path, { read: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new UsageError(
      `Cannot read ${path} as it is gone: its store was deleted or moved while it was open; put it ` +
        "back, or open a store that is there",
      { cause: error },
    );
  }
}

/** Puts what stands behind a place aside and cuts it; gives the path where it is kept. */
function cutAt(path: string, file: Deno.FsFile, end: number, size: number): string {
  const torn = `${path}.torn-${end}`;
  Deno.writeFileSync(torn, readAt(file, end, size - end));
  file.truncateSync(end);
  file.syncSync();
  return torn;
}

/** Cuts what follows the last complete record; gives the path where it is kept. */
function cutTail(path: string, file: Deno.FsFile): { end: number; torn: string | null } {
  const { end, size } = ends(file);
  return { end, torn: end === size ? null : cutAt(path, file, end, size) };
}

function concatenated(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + line.length, 0));
  let at = 0;
  for (const line of lines) {
    bytes.set(line, at);
    at += line.length;
  }
  return bytes;
}

/**
 * Opens a journal for appending. Others may append to it meanwhile, such as a note: whoever does has the
 * file locked for that moment.
 */
export function openJournal(path: string): Journal {
  journalInfo(path);
  const file = Deno.openSync(path, { read: true, write: true, create: true });
  try {
    using turn = tryTurn(file);
    // While another appends, what stands behind the last whole record is on its way: the first append here
    // goes on behind it. Waiting would be in vain where that is this process.
    const found = turn === null ? { ...ends(file), torn: null } : cutTail(path, file);
    return new OpenJournal(path, file, found);
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Appends one record to a journal that another process may have open. */
export async function appendTo(path: string, record: JournalRecord): Promise<void> {
  const journal = openJournal(path);
  try {
    await journal.append(record);
  } finally {
    await journal.close();
  }
}

class OpenJournal implements Journal {
  readonly torn: string | null;
  #end: number;
  #queue: Waiting[] = [];
  #running: Promise<void> | null = null;
  #closed = false;
  /** Set where the file could not be cut back after a failed write: nothing may follow. */
  #broken: unknown = null;

  constructor(
    readonly path: string,
    private readonly file: Deno.FsFile,
    { end, torn }: { end: number; torn: string | null },
  ) {
    this.#end = end;
    this.torn = torn;
  }

  get end(): number {
    return this.#end;
  }

  // deno-lint-ignore require-await -- async: what cannot be encoded rejects, too
  async append(record: JournalRecord): Promise<void> {
    this.#requireOpen();
    const line = encodeLine(record);
    return this.#push(() => [line]);
  }

  // deno-lint-ignore require-await -- as above
  async appendAll(records: readonly JournalRecord[]): Promise<void> {
    this.#requireOpen();
    const lines = records.map(encodeLine);
    return this.#push(() => lines);
  }

  check(): void {
    if (this.#closed) return; // a closed file tells nothing of its path
    this.#look(this.#running === null ? this.#end : null);
  }

  gather(): Gathering {
    this.#requireOpen();
    const open = this.#queue.at(-1)?.gathering;
    if (open !== null && open !== undefined && !open.points.full) return open;
    const points = makeGatherer();
    const durable = this.#push(() => points.records().map(encodeLine), points);
    return this.#queue.at(-1)?.gathering ?? { points, durable };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#running !== null) await this.#running;
    this.file.close();
  }

  /** `written` null: while a write is under way nobody knows the size. */
  #look(written: number | null): void {
    if (this.#broken !== null) throw this.#broken;
    const fault = journalFault(this.path, this.file, written);
    if (fault !== null) this.#break(fault);
  }

  #break(fault: string): never {
    const kept = keepAcknowledged(this.path, this.file, this.#end);
    this.#broken = new UsageError(`Cannot append to ${this.path} as ${fault}; ${kept}`);
    throw this.#broken;
  }

  /** Goes on behind what others have appended since, which was on disk when they gave their turn back. */
  #adopt(): void {
    this.#look(this.#end);
    const { size } = this.file.statSync();
    if (size <= this.#end) return;
    const bytes = readAt(this.file, this.#end, size - this.#end);
    let at = 0;
    while (at < bytes.length) {
      const entry = readEntry(bytes, at, 0);
      if (entry === null) break; // who wrote it was ended in the midst of it
      if (entry.kind === "damaged") {
        this.#break(
          `something else wrote to it: it has ${size} bytes, of ${this.#end} that were written here`,
        );
      }
      at = entry.next;
    }
    if (at < bytes.length) cutAt(this.path, this.file, this.#end + at, size);
    this.#end += at;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { file } = this;
    let turn: Disposable | null = null;
    let writes = false;
    try {
      turn = await awaitTurn(this.path, file);
      this.#adopt();
      const bytes = concatenated(batch.flatMap(({ lines }) => lines()));
      file.seekSync(this.#end, Deno.SeekMode.Start);
      writes = true;
      writeAll(file, bytes);
      await file.syncData();
      this.#look(this.#end + bytes.length); // or it is acknowledged in a file that nobody can find
      this.#end += bytes.length;
      for (const { resolve } of batch) resolve();
    } catch (error) {
      const reason = storageError(error, `append to ${this.path}`);
      for (const { reject } of batch) reject(reason);
      if (this.#broken !== null) throw this.#broken;
      // Half a record may stand there; the next append must not glue onto it. Before that, what stands
      // behind the own end are records of others that could not be read, and that were acknowledged.
      if (writes) file.truncateSync(this.#end);
    } finally {
      turn?.[Symbol.dispose]();
    }
  }

  async #drain(): Promise<void> {
    try {
      while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0));
    } catch (error) {
      this.#broken = error;
      for (const { reject } of this.#queue.splice(0)) reject(error);
    } finally {
      this.#running = null;
    }
  }

  #push(lines: Waiting["lines"], points: PointGatherer | null = null): Promise<void> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const gathering = points === null ? null : { points, durable: promise };
    this.#queue.push({ lines, gathering, resolve, reject });
    this.#running ??= Promise.resolve().then(() => this.#drain());
    return promise;
  }

  #requireOpen(): void {
    if (this.#closed) throw new Error(`Cannot append to ${this.path} as it is closed`);
  }
}
