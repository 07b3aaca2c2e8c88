import type { Registry, RetryScope, Runtime } from "../../core/mod.ts";
import { findDevices } from "../jobs/engines/local/devices.ts";
import type { ServerChoices } from "./own_server.ts";
import type { Address } from "./own_server.ts";
import type { RunningServer } from "./serve_model.ts";
import { type PlannedFor, servedCommand } from "./served_command.ts";
import type { SourceTools } from "./served_source.ts";
import { startWithRemedies } from "./with_remedies.ts";

/** What is served, and how. */
export interface ServedAsked {
  readonly name: string;
  readonly named: Runtime | undefined;
  readonly choices: ServerChoices;
  readonly words: readonly string[];
  /** Where it is to listen: asked as late as can be. */
  readonly place: () => Address;
  readonly planned: PlannedFor | null;
  readonly wait_seconds: number;
  readonly retry: RetryScope | null;
}

/** A server that answers, and the runtime that it answers by. */
export interface Served {
  readonly server: RunningServer;
  readonly runtime: string;
}

/** Starts a server of a model or trial and waits for its first token. `say`: notes, each a line. */
export async function startServed(
  tools: SourceTools,
  registry: Registry,
  asked: ServedAsked,
  { signal, say }: { signal: AbortSignal; say: (line: string) => void },
): Promise<Served> {
  using served = await servedCommand(tools, registry, asked);
  for (const note of served.notes) say(`note: ${note}`);
  const { address, name, runtime, command } = served;
  say(`starting ${name} with ${runtime} on ${address.host}:${address.port}`);
  const how = { address, model: name, wait_seconds: asked.wait_seconds, signal };
  const server = await startWithRemedies(tools.home.root, command, how, {
    scope: asked.retry,
    facts: { cards: (await findDevices()).cards.length, tool_call_parser: null },
    onTry: say,
    ...(served.foresee === undefined ? {} : { foresee: served.foresee }),
  });
  return { server, runtime };
}
