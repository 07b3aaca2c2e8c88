/** The same tools over HTTP: on this machine alone, with a token in each request. */
import { randomBytes } from "node:crypto";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { UsageError } from "../../core/mod.ts";
import { guard } from "../board/guard.ts";
import { makeAssistantServer } from "./make_server.ts";
import type { AssistantWorld } from "./tool.ts";

export interface RunningAssistant {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

/** Listens on loopback; port 0: any that is free. */
export function serveAssistantHttp(
  world: AssistantWorld,
  { port = 0, token = randomBytes(24).toString("base64url") }: { port?: number; token?: string },
): RunningAssistant {
  const handler = createMcpHandler(() => makeAssistantServer(world), {
    onerror: (error) => console.error(error.message),
  });
  let own = port;
  const app = new Hono();
  app.use(
    guard(token, () => own, (c, { status, sentence }) => c.json({ error: sentence }, status)),
  );
  app.all("/mcp", (c) => handler.fetch(c.req.raw));
  app.notFound((c) => c.json({ error: "Cannot find this address: tools are at /mcp" }, 404));
  const server = listen(port, (request) => app.fetch(request));
  own = server.addr.port;
  return {
    url: `http://127.0.0.1:${own}/mcp`,
    token,
    async close() {
      await handler.close();
      await server.shutdown();
    },
  };
}

function listen(port: number, handler: (request: Request) => Response | Promise<Response>) {
  try {
    return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, handler);
  } catch (error) {
    const why = error instanceof Deno.errors.AddrInUse
      ? " as it is in use: name another one, or leave --port out"
      : ` of 127.0.0.1: ${(error as Error).message}`;
    throw new UsageError(`Cannot serve assistants at port ${port}${why}`);
  }
}
