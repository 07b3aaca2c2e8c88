import { resolve } from "node:path";
import process from "node:process";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { quotedText, UsageError, visibleText } from "../../../core/errors.ts";
import { LineTransport } from "../../assistant/line_transport.ts";
import { makeAssistantServer } from "../../assistant/make_server.ts";
import { serveAssistantHttp } from "../../assistant/serve_http.ts";
import type { AssistantWorld } from "../../assistant/tool.ts";
import { BoardQueue } from "../../board/board_queue.ts";
import { boardStores } from "../../board/board_stores.ts";
import { findHome } from "../../ground/home.ts";
import { queuePaths } from "../../store/queue/queue_paths.ts";
import { enginesFor, notDriven, programOf } from "../queue/work.ts";

interface McpOptions {
  store?: string;
  allowSubmit?: boolean;
  http?: boolean;
  port?: string;
}

/** Characters of an error, which may quote a request. */
const MOST_TOLD = 500;

function portOf(text: string | undefined, http: boolean): number {
  if (text === undefined) return 0;
  if (!http) throw new UsageError("Cannot take --port without --http: it is HTTP's");
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`Cannot take --port as a whole number from 0 to 65535: it is "${text}"`);
}

/** Resolves when the assistant's program has gone, or at Ctrl-C. */
function ended(closed: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, resolve);
  return Promise.race([promise, closed]);
}

/** Serves one assistant over standard input and output, until its program closes them or dies. */
async function serveHere(world: AssistantWorld): Promise<void> {
  const transport = new LineTransport(process.stdin, process.stdout);
  const handle = serveStdio(() => makeAssistantServer(world), {
    transport,
    onerror: ({ message }) => console.error(visibleText(quotedText(message, MOST_TOLD))),
  });
  await ended(transport.closed);
  await handle.close();
}

async function serveThere(world: AssistantWorld, port: number): Promise<void> {
  const running = serveAssistantHttp(world, { port });
  console.log(running.url);
  console.log(`Authorization: Bearer ${running.token}`);
  console.error("Ctrl-C ends it. Whoever has this token may read the store.");
  await ended(new Promise(() => {}));
  await running.close();
}

/** `pare mcp`: the store as tools for assistants, until their program ends. */
export async function mcpCommand(options: McpOptions): Promise<void> {
  const { allowSubmit: allow_submit = false, http = false } = options;
  const port = portOf(options.port, http);
  const root = resolve(findHome(Deno.env.toObject(), options.store).store);
  const queue = new BoardQueue([root], { engines: (paths) => enginesFor(paths), programOf });
  const stores = boardStores([root]);
  if (allow_submit) queue.drive();
  const world: AssistantWorld = {
    ...{ stores, queue, allow_submit },
    drives: () => allow_submit ? null : notDriven(queuePaths(root)),
  };
  try {
    if (http) await serveThere(world, port);
    else await serveHere(world);
  } finally {
    await queue.close();
    await stores[Symbol.asyncDispose]();
  }
  Deno.exit(0); // what an assistant's program left open holds nothing here
}
