import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { boundCommand, type ServerCommand } from "../../core/mod.ts";
import { logTail } from "../../python-backends/child/log_tail.ts";
import { startChild } from "../../python-backends/child/start_child.ts";
import { isAlive, thisProcess } from "../../python-backends/process_owner.ts";
import {
  askFor,
  attemptPaths,
  readRequest,
  readResult,
  writeRequest,
} from "../jobs/attempt/attempt_folder.ts";
import { livesHere, readLease } from "../jobs/attempt/lease.ts";
import { endBeyond, endRemains } from "../jobs/attempt/remains.ts";
import { wrapperWords } from "../jobs/engines/wrapper_words.ts";

/** How a server came to its end. */
export interface ServerEnd {
  /** Null: a signal ended it, or it could not be started. */
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it never ran, where it could not be started. */
  readonly not_started: string | null;
  /** Whether it was asked to. */
  readonly asked: boolean;
}

/** A server that this process keeps: it ends with it, by whatever death. */
export interface KeptServer {
  readonly folder: string;
  /** Settles when nothing of it is left: no process in any session, no container. */
  readonly ended: Promise<ServerEnd>;
  /** The end of what it said. */
  lastLines(count?: number): string;
  stop(): Promise<ServerEnd>;
}

const KEPT_MS = 3 * 24 * 3600_000;

/**
 * Starts a server in a folder of its own below `root`. A wrapper of its own session holds it, as it
 * holds a job's attempt: that sees the end of this process too, and ends all that the server started.
 */
export function keepServer(root: string, command: ServerCommand): KeptServer {
  const id = `serve-${crypto.randomUUID()}`;
  const folder = join(root, id);
  const { command: { program, args, environment }, after } = boundCommand(command, `pare-${id}`);
  const { pid, start } = thisProcess();
  writeRequest({ id, attempt: 1, argv: [program, ...args], folder, seconds: null }, {
    holder: { pid, start },
    ...(after === undefined ? {} : { after }),
  });
  const wrapper = startChild({
    argv: wrapperWords(folder),
    env: environment,
    ends_itself: true,
  });
  let stopped = false;
  const ended = wrapper.exited.then(async (exit): Promise<ServerEnd> => {
    const result = readResult(folder);
    if (result === null) await endLost(folder);
    const { code, signal, not_started, how } = result ?? {
      ...exit,
      not_started: exit.not_started ?? null,
      how: "done",
    };
    return { code, signal, not_started, asked: stopped || how !== "done" };
  });
  return {
    folder,
    ended,
    lastLines: (count = 12) => logTail(attemptPaths(folder).log, count),
    stop() {
      stopped = true; // a wrapper that has only just begun ends by the signal, and writes no result
      askFor(folder, "cancel");
      wrapper.signal("SIGTERM"); // it looks at once
      return ended;
    },
  };
}

/** Ends what a wrapper left that was killed itself. */
async function endLost(folder: string): Promise<void> {
  const lease = readLease(folder);
  if (lease !== null && livesHere(lease) !== null) await endRemains(lease.token);
  await endBeyond(readRequest(folder)?.after);
}

/** Ends what earlier calls left whose wrapper was killed with them; old folders go. */
export async function endAbandoned(root: string): Promise<void> {
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    const folder = join(root, name);
    const request = readRequest(folder);
    const there = statSync(folder, { throwIfNoEntry: false });
    if (there === undefined) continue; // another call has just taken it away
    const old = Date.now() - there.mtimeMs > KEPT_MS;
    if (readResult(folder) === null && request?.holder !== undefined) {
      const lease = readLease(folder);
      if (isAlive(request.holder) || (lease !== null && isAlive(lease))) continue;
      await endLost(folder);
    }
    if (old) rmSync(folder, { recursive: true, force: true });
  }
}
