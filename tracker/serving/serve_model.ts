import { join } from "node:path";
import type { ServerCommand } from "../../core/mod.ts";
import { awaitReady, NotReady, type Ready } from "./await_ready.ts";
import { endAbandoned, keepServer, type KeptServer } from "./keep_server.ts";
import type { Address } from "./own_server.ts";

/** A server that answers, until it is stopped. */
export interface RunningServer extends Ready {
  /** By which it knows its model. */
  readonly model: string;
  readonly origin: string;
  readonly kept: KeptServer;
}

/** Why a server was not started, with what it said last. */
export class ServerFailed extends Error {
  override name = "ServerFailed";
  constructor(
    message: string,
    readonly last_lines: string,
    /** As much of its log as a diagnosis may need. */
    readonly log: string,
  ) {
    super(message);
  }
}

const LOG_LINES = 60;

/** A failure with what its server said. */
export function failedServer(message: string, kept: KeptServer): ServerFailed {
  const log = `${kept.lastLines(LOG_LINES)}\n${message}`;
  return new ServerFailed(message, kept.lastLines(), log);
}

/** Where servers have their folders, below pare's home. */
export const servingFolder = (root: string) => join(root, "serving");

/** Where a client on this machine reaches it. */
function originOf({ host, port }: Address): string {
  const own = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host;
  return `http://${own.includes(":") && !own.startsWith("[") ? `[${own}]` : own}:${port}`;
}

/**
 * Starts a server and waits for its health and a first token. One that has neither is stopped: nothing
 * of it is left when this throws.
 */
export async function startServer(
  root: string,
  command: ServerCommand,
  { address, model, wait_seconds, signal }: {
    address: Address;
    /** By which it is to know its model. */
    model: string;
    wait_seconds: number;
    signal: AbortSignal;
  },
): Promise<RunningServer> {
  await endAbandoned(servingFolder(root));
  const kept = keepServer(servingFolder(root), command);
  const origin = originOf(address);
  try {
    const ready = await awaitReady(origin, { model, wait_seconds, ended: kept.ended, signal });
    return { ...ready, origin, model, kept };
  } catch (error) {
    const { code, signal: by, not_started, asked } = await kept.stop();
    if (signal.aborted || !(error instanceof NotReady)) throw error;
    const how = not_started !== null
      ? not_started
      : asked
      ? error.message
      : by === null
      ? `it ended with status ${code}`
      : `${by} ended it`;
    throw failedServer(how, kept);
  }
}
