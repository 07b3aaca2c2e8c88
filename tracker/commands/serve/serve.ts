import { type RetryScope, UsageError } from "../../../core/mod.ts";
import { createBackendClient } from "../../../python-backends/client.ts";
import { openFolderCache } from "../../artifacts/folder_cache.ts";
import { checkHome, findHome } from "../../ground/home.ts";
import { Stopped } from "../../ground/terminal/interrupt.ts";
import { parseDuration, parseWhole } from "../../ground/terminal/parse_values.ts";
import { discoverPlugins } from "../../lab/discover.ts";
import { portFor } from "../../serving/free_port.ts";
import { namedRuntime } from "../../serving/own_server.ts";
import { endAbandoned } from "../../serving/keep_server.ts";
import {
  failedServer,
  type RunningServer,
  ServerFailed,
  servingFolder,
} from "../../serving/serve_model.ts";
import { startServed } from "../../serving/start_served.ts";
import type { PlannedFor } from "../../serving/served_command.ts";
import { failureText } from "../../serving/with_remedies.ts";
import { interruptible } from "../output/interruptible.ts";

/** What `pare serve` may be told. */
export interface ServeOptions {
  store?: string;
  with?: string;
  port?: string;
  host: string;
  maxModelLen?: string;
  wait: string;
  plugin?: string[];
  /** True where no word follows: what leaves the answers as they are. */
  retry?: string | true;
  gpus?: string;
  container?: boolean;
}

const MOST_PORT = 65_535;

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = parseWhole(text, "--port", 1);
  if (port <= MOST_PORT) return port;
  throw new UsageError(`Cannot take --port as a port: it is ${text}, of at most ${MOST_PORT}`);
}

function plannedFor({ gpus, container = false }: ServeOptions): PlannedFor | null {
  if (gpus !== undefined) return { gpus, container };
  if (!container) return null;
  throw new UsageError(
    "Cannot take --container without --gpus: a plan for the cards writes its command",
  );
}

function retryScope(retry: string | true | undefined): RetryScope | null {
  if (retry === undefined) return null;
  return retry === "rounded" ? retry : "same";
}

/** `pare serve MODEL|TRIAL`: a server that answers, until Ctrl-C or its own end. */
export async function serveCommand(
  name: string,
  words: readonly string[],
  options: ServeOptions,
): Promise<void> {
  const asked = portOf(options.port);
  const wait_seconds = parseDuration(options.wait, "--wait");
  const max_model_len = options.maxModelLen === undefined
    ? undefined
    : parseWhole(options.maxModelLen, "--max-model-len", 1);
  const home = findHome(Deno.env.toObject(), options.store);
  await checkHome({ ...home, store: home.root }, false);
  await endAbandoned(servingFolder(home.root)); // it may hold the port
  portFor(options.host, asked); // what cannot listen there is said before any work
  const registry = await discoverPlugins(options.plugin);
  const named = namedRuntime(registry, options.with);
  let server: RunningServer | undefined;
  const stop = interruptible((text) => console.error(text), () => true, "the server ends");
  const client = createBackendClient({
    ...{ home: home.root, nursery: false, signal: stop.signal },
    pins_folders: registry.environments,
  });
  const tools = { home, client, caches: openFolderCache(home.cache) };
  try {
    const choices = max_model_len === undefined ? {} : { max_model_len };
    const served = await startServed(tools, registry, {
      ...{ name, named, choices, words, wait_seconds },
      place: () => ({ host: options.host, port: portFor(options.host, asked) }),
      planned: plannedFor(options),
      retry: retryScope(options.retry),
    }, { signal: stop.signal, say: (line) => console.error(line) });
    server = served.server;
    tellReady(server, served.runtime);
    await lasting(server, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) throw new Stopped("Stopped: the server has ended");
    if (!(error instanceof ServerFailed)) throw error;
    throw new UsageError(`Cannot serve ${name}: ${failureText(error)}`);
  } finally {
    await server?.kept.stop();
    await client.close();
  }
}

function tellReady(server: RunningServer, runtime: string): void {
  const { origin, model, seconds_to_health, first_token_seconds } = server;
  console.error(
    `${model} with ${runtime}: healthy after ${
      seconds_to_health.toFixed(1)
    } s, first token after ` +
      `${(1000 * first_token_seconds).toFixed(0)} ms; its log: ${server.kept.folder}/log`,
  );
  console.log(`OPENAI_BASE_URL=${origin}/v1`);
  console.log(`LLM_MODEL=${model}`);
  console.error("Ctrl-C ends it.");
}

/** Settles at Ctrl-C; throws where the server ends before. */
async function lasting({ kept }: RunningServer, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<null>();
  signal.addEventListener("abort", () => aborted.resolve(null), { once: true });
  if (signal.aborted) aborted.resolve(null);
  const end = await Promise.race([kept.ended, aborted.promise]);
  if (end === null) return;
  const how = end.signal === null ? `with status ${end.code}` : `by ${end.signal}`;
  throw failedServer(`it ended ${how} while it served`, kept);
}
