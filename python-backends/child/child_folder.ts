/**
 * A child with a folder: how it stands is in its files, for whoever looks, after any end of it, of its
 * parent or of the machine.
 *
 * | file           | says                                                                    |
 * | -------------- | ----------------------------------------------------------------------- |
 * | `request.json` | what it was asked and by which process; no variable of its environment    |
 * | `alive`        | its pid and start; the kernel's lock on it is held as long as it lives   |
 * | `log`          | what it said on standard output and error, appended                      |
 * | `result.json`  | what came of it, by itself: this alone decides                           |
 * | `exit.json`    | its exit code or signal, where its parent saw it                         |
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../core/mod.ts";
import { type LockOwner, lockOwner, thisProcess } from "../file_lock.ts";
import { readWhole, writeWhole } from "../whole_file.ts";
import { logTail } from "./log_tail.ts";
import { type Child, type ChildOptions, type Exit, startChild } from "./start_child.ts";

/** What came of a child, in its own words. */
export type ChildResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string; readonly value?: unknown };

/** How a child stands. */
export type ChildState =
  /** It was asked for and has not begun, or nothing was asked for here. */
  | { readonly state: "not begun" }
  | { readonly state: "running"; readonly owner: LockOwner }
  | { readonly state: "ended"; readonly result: ChildResult }
  /** It began, does not live and left no result. `exit` is null where its parent had gone before it. */
  | { readonly state: "died"; readonly exit: Exit | null; readonly last_words: string };

/** The exit code of a second start in a folder that another process works for. */
export const TAKEN = 75;

/** The files of a child's folder. */
export function childPaths(folder: string) {
  const at = (name: string) => join(folder, name);
  return {
    request: at("request.json"),
    alive: at("alive"),
    log: at("log"),
    result: at("result.json"),
    exit: at("exit.json"),
  };
}

/** What a child was asked; null where nothing was. */
export function readRequest(folder: string): unknown {
  return readWhole<{ request: unknown }>(childPaths(folder).request)?.request ?? null;
}

/** How the child of a folder stands, whoever started it. */
export function readChild(folder: string): ChildState {
  const paths = childPaths(folder);
  const ended = (): ChildState | null => {
    const result = readWhole<ChildResult>(paths.result);
    return result === null ? null : { state: "ended", result };
  };
  const early = ended();
  if (early !== null) return early;
  const owner = lockOwner(paths.alive);
  if (owner !== null) return { state: "running", owner };
  const exit = readWhole<Exit>(paths.exit);
  // It may have ended since it was looked for.
  const late = ended();
  if (late !== null) return late;
  if (exit === null && !existsSync(paths.alive)) return { state: "not begun" };
  return { state: "died", exit, last_words: logTail(paths.log) };
}

/**
 * Starts a child with a folder, which is made; its program begins with `beChild`.
 *
 * @throws UsageError where one has begun there: each attempt has a folder of its own.
 */
export function startChildIn(
  folder: string,
  { argv, request, ...how }: Pick<ChildOptions, "argv" | "cwd" | "env"> & { request: unknown },
): Child {
  const { state } = readChild(folder);
  if (state !== "not begun") {
    const how = state === "running" ? "is running" : `has ${state}`;
    throw new UsageError(
      `Cannot start a child in ${folder} as one ${how} there: give it another folder`,
    );
  }
  writeWhole(childPaths(folder).request, { argv, request, asked_by: thisProcess() });
  const child = startChild({
    ...how,
    ...{ argv, log: childPaths(folder).log, append: true, output: "log", ends_itself: true },
  });
  void child.exited.then((exit) => {
    if (exit.code === TAKEN) return; // another was quicker: its end is not this one's
    try {
      writeWhole(childPaths(folder).exit, exit);
    } catch {
      // The folder is gone, or the disk is full: what the child wrote itself decides.
    }
  });
  return child;
}
