import { randomBytes } from "node:crypto";
import { type Context, Hono } from "hono";
import { UsageError } from "../../core/mod.ts";
import { storageFault } from "../ground/storage/storage_error.ts";
import { addApi } from "./api/routes.ts";
import type { Board } from "./board.ts";
import { boardStores } from "./board_stores.ts";
import { JournalWatch } from "./follow.ts";
import { guard } from "./guard.ts";
import { errorPage } from "./pages/layout.ts";
import { addPages } from "./pages/routes.ts";
import type { BoardJob, BoardQueue } from "./board_queue.ts";
import { refusedBy } from "./refused.ts";

/** The port that is tried first where none is named, and how many behind it. */
const FIRST_PORT = 4747;
const PORTS_TRIED = 20;

export interface BoardOptions {
  /** Stores that it shows; studies that are submitted go to the first. */
  readonly stores: readonly string[];
  /** Exactly this port; 0: any that is free; default: the first free one from 4747 on. */
  readonly port?: number;
  readonly token?: string;
  /** What is submitted waits and runs here. */
  readonly queue: BoardQueue;
}

export interface RunningBoard {
  readonly port: number;
  readonly token: string;
  /** The address that lets in: it holds the token. */
  readonly url: string;
  /** Ends streams and the server; what runs goes on. Gives the jobs that are not over. */
  close(): Promise<BoardJob[]>;
}

/** An answer in the form that the other side reads: a page, or JSON. */
function said(c: Context, status: number, sentence: string): Response | Promise<Response> {
  const isPage = !c.req.path.startsWith("/api/") &&
    (c.req.header("accept") ?? "").includes("text/html");
  c.status(status as 400);
  return isPage ? c.html(errorPage(status, sentence)) : c.json({ error: sentence });
}

function answerError(error: unknown, c: Context): Response | Promise<Response> {
  const refused = refusedBy(error);
  if (refused !== null) return said(c, refused.status, refused.sentence);
  const fault = storageFault(error);
  if (fault !== null) {
    const reason = error instanceof Error ? error.message : String(error);
    return said(c, 500, `Cannot go on as ${fault.why} (${reason}); ${fault.then}`);
  }
  console.error(error);
  return said(c, 500, "Cannot answer as something is wrong in pare: its terminal says what");
}

function buildApp(board: Board, token: string, port: () => number): Hono {
  const app = new Hono();
  app.use(guard(token, port, (c, { status, sentence }) => said(c, status, sentence)));
  addApi(app, board);
  addPages(app, board);
  app.notFound((c) =>
    said(c, 404, `Cannot find ${c.req.path.slice(0, 200)}: the board has no such page`)
  );
  app.onError(answerError);
  return app;
}

type Handler = (request: Request) => Response | Promise<Response>;

/** The board is of this machine alone: one that has IPv6 only has it not. */
const HERE = "127.0.0.1";

function listenAt(port: number, handler: Handler): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: HERE, port, onListen: () => {} }, handler);
}

/** Listens at the port that is named, or at the first free one. */
function listen(port: number | undefined, handler: Handler): Deno.HttpServer<Deno.NetAddr> {
  const tried = port === undefined
    ? Array.from({ length: PORTS_TRIED }, (_, at) => FIRST_PORT + at)
    : [port];
  for (const one of tried) {
    try {
      return listenAt(one, handler);
    } catch (error) {
      if (error instanceof Deno.errors.PermissionDenied) {
        throw new UsageError(
          `Cannot open the board at port ${one}: it may not be used; name another`,
        );
      }
      if (!(error instanceof Deno.errors.AddrInUse)) {
        throw new UsageError(
          `Cannot open the board at ${HERE}:${one}: ${(error as Error).message}`,
        );
      }
    }
  }
  throw new UsageError(
    port === undefined
      ? `Cannot open the board as the ports from ${FIRST_PORT} to ${tried.at(-1)} are in use: ` +
        `name a free one by --port`
      : `Cannot open the board at port ${port} as it is in use: name another one, or leave --port out`,
  );
}

/** Serves the stores on this machine alone. */
export function startBoard(options: BoardOptions): RunningBoard {
  const token = options.token ?? randomBytes(24).toString("base64url");
  const ending = new AbortController();
  const stores = boardStores(options.stores);
  const watch = new JournalWatch();
  const { queue } = options;
  let port = 0;
  const app = buildApp({ stores, watch, queue, ending: ending.signal }, token, () => port);
  const server = listen(options.port, (request) => app.fetch(request));
  port = server.addr.port;
  return {
    port,
    token,
    url: `http://127.0.0.1:${port}/?token=${token}`,
    async close() {
      ending.abort();
      watch.close();
      const left = await queue.close();
      await server.shutdown();
      await stores[Symbol.asyncDispose]();
      return left;
    },
  };
}
