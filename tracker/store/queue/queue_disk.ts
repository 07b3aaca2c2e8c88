import { dirname } from "node:path";
import {
  emptyQueue,
  type JobDisk,
  type JobEvent,
  type Queue,
  reduce,
  UsageError,
} from "../../../core/mod.ts";
import { makeFolder, syncFolder, writeAll } from "../../../python-backends/whole_file.ts";
import { storageError } from "../../ground/storage/storage_error.ts";
import { journalInfo } from "../journal/reader.ts";
import { awaitTurn } from "../journal/turn.ts";
import { queueLine, readQueueLine } from "./queue_line.ts";

const NEWLINE = 0x0a;

/** What was read of a journal so far. */
interface Reading {
  readonly queue: Queue;
  /** Place behind the last whole line. */
  readonly end: number;
  /** Lines before it. */
  readonly lines: number;
}

/** A queue is changed in place by its events: each reading has one of its own. */
const nothing = (): Reading => ({ queue: emptyQueue(), end: 0, lines: 0 });

function readFrom(file: Deno.FsFile, from: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, file.statSync().size - from));
  file.seekSync(from, Deno.SeekMode.Start);
  for (let at = 0; at < bytes.length;) {
    const read = file.readSync(bytes.subarray(at));
    if (read === null) return bytes.subarray(0, at);
    at += read;
  }
  return bytes;
}

/** Reads on from a place; a last line without its end belongs to a write that was not acknowledged. */
function readOn(path: string, file: Deno.FsFile, before: Reading): Reading {
  const bytes = readFrom(file, before.end);
  const whole = bytes.lastIndexOf(NEWLINE) + 1;
  if (whole === 0) return before;
  const lines = new TextDecoder().decode(bytes.subarray(0, whole - 1)).split("\n");
  const events = lines.map((line, at): JobEvent => {
    const event = readQueueLine(line);
    if (typeof event !== "string") return event;
    throw new UsageError(
      `Cannot read line ${
        before.lines + at + 1
      } of ${path}: ${event}; put a copy of the file back, or ` +
        "move the folder away for a new queue",
    );
  });
  return {
    queue: events.reduce(reduce, before.queue),
    end: before.end + whole,
    lines: before.lines + lines.length,
  };
}

/**
 * Gives a last line its end back where a flipped bit took that: it was acknowledged. One without a byte in
 * its end's place was not. Under the lock.
 */
function mendEnd(file: Deno.FsFile, from: number): void {
  const bytes = readFrom(file, from);
  const line = bytes.subarray(bytes.lastIndexOf(NEWLINE) + 1, -1);
  if (typeof readQueueLine(new TextDecoder().decode(line)) === "string") return;
  file.seekSync(from + bytes.length - 1, Deno.SeekMode.Start);
  writeAll(file, Uint8Array.of(NEWLINE));
}

/** A queue's journal on disk: many processes read it and append to it, each under its lock. */
export class QueueDisk implements JobDisk {
  #read = nothing();
  #file: string | null = null;

  constructor(readonly path: string) {}

  async transact(decide: (queue: Queue) => readonly JobEvent[]): Promise<Queue> {
    makeFolder(dirname(this.path));
    journalInfo(this.path);
    using file = Deno.openSync(this.path, { read: true, write: true, create: true });
    using _turn = await awaitTurn(this.path, file);
    this.#catchUp(file);
    if (file.statSync().size > this.#read.end) {
      mendEnd(file, this.#read.end);
      this.#catchUp(file);
    }
    const events = decide(this.#read.queue);
    if (events.length > 0) this.#append(file, events);
    return this.#read.queue;
  }

  /** How far the journal is read: behind its last whole line. */
  get end(): number {
    return this.#read.end;
  }

  /** Jobs that are told of behind a place, in what is read; all of them where that is the beginning. */
  jobsSince(place: number): Iterable<string> {
    if (place === 0) return this.#read.queue.jobs.keys();
    using file = Deno.openSync(this.path, { read: true });
    const text = new TextDecoder().decode(readFrom(file, place).subarray(0, this.end - place));
    return new Set(
      text.split("\n").flatMap((line) => {
        const event = line === "" ? null : readQueueLine(line);
        return event !== null && typeof event !== "string" && "job_id" in event ? event.job_id : [];
      }),
    );
  }

  /** The queue as it is now; an empty one where there is none. Takes no lock. */
  current(): Queue {
    try {
      journalInfo(this.path); // a pipe would be waited for
      using file = Deno.openSync(this.path, { read: true });
      this.#catchUp(file);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      this.#read = nothing();
    }
    return this.#read.queue;
  }

  /** Another file in its place, such as a copy that was put back, is read from its beginning. */
  #catchUp(file: Deno.FsFile): void {
    const { dev, ino, size } = file.statSync();
    const name = `${dev} ${ino}`;
    if (this.#file !== name || size < this.#read.end) this.#read = nothing();
    this.#file = name;
    if (size > this.#read.end) this.#read = readOn(this.path, file, this.#read);
  }

  #append(file: Deno.FsFile, events: readonly JobEvent[]): void {
    const { end } = this.#read;
    const bytes = new TextEncoder().encode(events.map(queueLine).join(""));
    try {
      file.truncateSync(end); // half a line of a write that a kill cut off
      file.seekSync(end, Deno.SeekMode.Start);
      writeAll(file, bytes);
      file.syncDataSync();
      if (end === 0) syncFolder(dirname(this.path));
    } catch (error) {
      file.truncateSync(end);
      throw storageError(error, `append to ${this.path}`);
    }
    this.#read = {
      queue: events.reduce(reduce, this.#read.queue),
      end: end + bytes.length,
      lines: this.#read.lines + events.length,
    };
  }
}
