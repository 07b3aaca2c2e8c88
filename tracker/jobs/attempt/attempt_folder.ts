/**
 * An attempt's folder: how it stands is in its files, for whoever looks, on any machine that shares it.
 *
 * | file           | says                                                                        |
 * | -------------- | --------------------------------------------------------------------------- |
 * | `attempt.json` | what is to run, and where; no variable of its environment                   |
 * | `asked`        | `save` or `cancel`, where somebody asks for its end                         |
 * | `lease`        | which process runs it; touched as long as that lives                        |
 * | `log`          | what it said on standard output and error, appended                         |
 * | `result.json`  | what came of it, written when nothing of it runs any more: this alone decides |
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Attempt, EngineError } from "../../../core/jobs/engine.ts";
import type { LockOwner } from "../../../python-backends/process_owner.ts";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";

/** How an attempt is asked to end. */
export type Asked = "save" | "cancel";

/** How an attempt depends on others. */
export interface Bound {
  /** Without this process it has no purpose: the wrapper ends it where that has died, by whatever death. */
  readonly holder?: Pick<LockOwner, "pid" | "start">;
  /** A program and its words that end what no signal reaches, such as a container: run at its end. */
  readonly after?: readonly string[];
}

const Owner = z.object({ pid: z.int(), start: z.string() });

/** What the wrapper is told. */
const Request = z.strictObject({
  id: z.string(),
  attempt: z.int().positive(),
  argv: z.array(z.string()).min(1),
  seconds: z.number().nullable(),
  cwd: z.string().describe("the folder that relative paths of the words are below"),
  holder: Owner.optional(),
  after: z.array(z.string()).optional(),
});
export type Request = z.infer<typeof Request>;

/** What the wrapper wrote. */
const Written = z.strictObject({
  id: z.string(),
  attempt: z.int(),
  token: z.string().describe("of the one start that ran it"),
  how: z.enum(["done", "saved", "cancelled", "timeout"]).describe(
    "`done`: it ended by itself, well or not; `saved`: it was asked to end in good order",
  ),
  code: z.int().nullable().describe("null: a signal ended it, or it could not be started"),
  signal: z.string().nullable(),
  not_started: z.string().nullable().describe("why it could not be started"),
  lost_cards: z.array(z.string()).default([]).describe("of its own, that the driver lost"),
  seconds: z.number().nonnegative().describe(
    "from its start to the end of all that it had started",
  ),
});
export type Written = z.infer<typeof Written>;

export function attemptPaths(folder: string) {
  const at = (name: string) => join(folder, name);
  return {
    request: at("attempt.json"),
    asked: at("asked"),
    lease: at("lease"),
    log: at("log"),
    result: at("result.json"),
  };
}

/** The name of an attempt at an engine; the id is checked. */
export function attemptName({ id, attempt }: Pick<Attempt, "id" | "attempt">): string {
  if (/^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/.test(id) && Number.isInteger(attempt) && attempt > 0) {
    return `${id}-${attempt}`;
  }
  throw new EngineError(
    "refused",
    `Cannot submit attempt ${attempt} of "${id}": an id is of letters, digits and dashes, at most 63, ` +
      "and attempts count from 1",
  );
}

/** Writes down what is to run, once; another attempt's folder is refused. */
export function writeRequest(
  { id, attempt, argv, folder, seconds }: Omit<Attempt, "env" | "slots">,
  bound: Bound = {},
): void {
  const paths = attemptPaths(folder);
  const there = readRequest(folder);
  if (there === null) {
    writeWhole(paths.request, { id, attempt, argv, seconds, cwd: Deno.cwd(), ...bound });
    // It is there from the start: of a new file another machine may not hear for a minute.
    if (readAsked(folder) === null) Deno.writeTextFileSync(paths.asked, "");
  } else if (there.id !== id || there.attempt !== attempt) {
    throw new EngineError(
      "refused",
      `Cannot submit ${id}-${attempt} in ${folder} as that is of ${there.id}-${there.attempt}: give ` +
        "each attempt a folder of its own",
    );
  }
}

/** Null also where it is damaged: nothing is run by half of what was asked. */
export function readRequest(folder: string): Request | null {
  return Request.safeParse(readWhole(attemptPaths(folder).request)).data ?? null;
}

/** Null also where it is damaged: its lease then tells that nobody runs it, and it is tried again. */
export function readResult(folder: string): Written | null {
  return Written.safeParse(readWhole(attemptPaths(folder).result)).data ?? null;
}

/** Asks for an attempt's end, whichever engine has it: the wrapper looks twice a second. */
export function askFor(folder: string, asked: Asked): void {
  if (readAsked(folder) === "cancel") return; // nothing takes that back
  Deno.writeTextFileSync(attemptPaths(folder).asked, asked);
}

export function readAsked(folder: string): Asked | null {
  try {
    const word = Deno.readTextFileSync(attemptPaths(folder).asked);
    return word === "save" || word === "cancel" ? word : null;
  } catch {
    return null;
  }
}

/** Bytes of a log that one question is given at most. */
const PIECE = 1 << 20;

/** A piece of an attempt's log; none where it has not begun. */
export function readLog(
  folder: string,
  from: number,
): { bytes: Uint8Array; next: number; more: boolean } {
  let file: number;
  try {
    file = openSync(attemptPaths(folder).log, "r");
  } catch {
    return { bytes: new Uint8Array(), next: from, more: false };
  }
  try {
    const { size } = fstatSync(file);
    const buffer = new Uint8Array(Math.max(0, Math.min(PIECE, size - from)));
    const read = buffer.length === 0 ? 0 : readSync(file, buffer, 0, buffer.length, from);
    return { bytes: buffer.subarray(0, read), next: from + read, more: from + read < size };
  } finally {
    closeSync(file);
  }
}
