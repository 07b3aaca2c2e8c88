/**
 * What a study and a worker of its own on an engine tell each other, by two files of the worker's attempt
 * that one side appends to and the other reads:
 *
 * | file           | says                                                              |
 * | -------------- | ----------------------------------------------------------------- |
 * | `settings.json`| what the worker's client is opened with; no key and no password    |
 * | `calls.jsonl`  | calls that it is to run, or to stop                                |
 * | `said.jsonl`   | what it is, and what came of each call                             |
 *
 * Both are there from the start and opened anew for each look: of a new file another machine may not hear
 * for a minute.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type CallRequest, Failure, WorkerEvent } from "../../../core/mod.ts";

export function wirePaths(folder: string) {
  const at = (name: string) => join(folder, name);
  return {
    settings: at("settings.json"),
    calls: at("calls.jsonl"),
    said: at("said.jsonl"),
    logs: at("logs"),
  };
}

/** What a study names by a path, and the object store that has it for a machine that lacks it. */
const NamedInputs = z.strictObject({
  objects: z.string().describe(
    "s3://BUCKET/PREFIX; its keys are those of each machine's environment",
  ),
  paths: z.array(z.string()),
});
export type NamedInputs = z.infer<typeof NamedInputs>;

/** What a worker's client is opened with, and for whom it works. */
export const WorkerSettings = z.strictObject({
  home: z.string(),
  offline: z.boolean(),
  pins_folders: z.array(z.tuple([z.string(), z.string()])),
  env: z.record(z.string(), z.string()),
  threads: z.int().positive(),
  run_folder: z.string().describe("whose lease the study holds: without it the worker ends"),
  study_host: z.string(),
  given: NamedInputs.nullable().default(null),
});
export type WorkerSettings = z.infer<typeof WorkerSettings>;

/** What a worker is told. Calls count from 1, each number once. */
export const Told = z.union([
  z.strictObject({
    run: z.int().positive(),
    request: z.custom<CallRequest>((value) => typeof value === "object" && value !== null),
    environment: z.string(),
    stall_ms: z.number().nullable(),
    sample_ms: z.number().nullable(),
  }),
  z.strictObject({
    python_of: z.int().positive(),
    environment: z.string(),
  }),
  z.strictObject({ stop: z.int().positive() }),
  z.strictObject({ end: z.literal(true) }),
]);
export type Told = z.infer<typeof Told>;

const Sample = z.strictObject({
  seconds: z.number(),
  rss_bytes: z.number(),
  cpu_cores: z.number(),
  available_bytes: z.number(),
  gpu: z.strictObject({
    used_bytes: z.number(),
    utilisation: z.number(),
    power_w: z.number().nullable(),
  }).nullable(),
});

const SpanSaid = z.strictObject({ name: z.string(), seconds: z.number(), library: z.boolean() });

/** What a worker says: first what it is, then of each call its events and, last, its outcome. */
export const Said = z.union([
  z.strictObject({ hello: z.strictObject({ host: z.string(), machine: z.string() }) }),
  z.strictObject({ card_lost: z.string().describe("why it ends: the card that it had") }),
  z.strictObject({ call: z.int(), event: WorkerEvent }),
  z.strictObject({ call: z.int(), sample: Sample }),
  z.strictObject({ call: z.int(), log: z.string() }),
  z.strictObject({ call: z.int(), value: z.unknown(), spans: z.array(SpanSaid) }),
  z.strictObject({ call: z.int(), failure: Failure, spans: z.array(SpanSaid) }),
]);
export type Said = z.infer<typeof Said>;

/** JSON has no words for them: they are said as on the wire of a Python worker. */
function finite(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** Says one thing; whoever reads takes whole lines alone. */
export function say(path: string, line: Told | Said): void {
  Deno.writeTextFileSync(path, `${JSON.stringify(line, finite)}\n`, { append: true });
}

const PIECE = 1 << 20;

/** Reads what the other side says, from its beginning, each line once. */
export class Heard<T> {
  #from = 0;
  #begun = "";
  readonly #decoder = new TextDecoder();

  constructor(readonly path: string, readonly schema: z.ZodType<T>) {}

  /** What was said since the last look. */
  look(): T[] {
    const lines = `${this.#begun}${this.#more()}`.split("\n");
    this.#begun = lines.pop()!; // of a line that is being written
    return lines.map((line) => this.#read(line));
  }

  #read(line: string): T {
    try {
      return this.schema.parse(JSON.parse(line));
    } catch (error) {
      const what = JSON.stringify(line.slice(0, 80));
      throw new Error(`it says what this pare does not read: ${what}`, { cause: error });
    }
  }

  #more(): string {
    let file: number;
    try {
      file = openSync(this.path, "r");
    } catch {
      return ""; // it is not there any more, or not yet
    }
    try {
      let text = "";
      const buffer = new Uint8Array(
        Math.min(PIECE, Math.max(0, fstatSync(file).size - this.#from)),
      );
      for (;;) {
        const read = buffer.length === 0 ? 0 : readSync(file, buffer, 0, buffer.length, this.#from);
        if (read === 0) return text;
        this.#from += read;
        text += this.#decoder.decode(buffer.subarray(0, read), { stream: true });
      }
    } finally {
      closeSync(file);
    }
  }
}

/** Milliseconds between looks: soon where something was heard, later and later where nothing is. */
export function pauses(first = 20, longest = 150): { next(heard: boolean): number } {
  let pause = first;
  return {
    next(heard) {
      pause = heard ? first : Math.min(1.3 * pause, longest);
      return pause;
    },
  };
}
