/** What may become of an HTTP answer on its way, and a proxy before a server that lets it happen. */
import { mutate } from "../doors/mutate.ts";

/** The most of an answer without end that was taken, bytes. */
export interface Taken {
  bytes: number;
}

interface One {
  /** Does what was asked, and gives the sound answer. */
  readonly run: () => Promise<Response>;
  readonly random: () => number;
  readonly taken: Taken;
  /** Longer than a client waits. */
  readonly late_ms: number;
}

export type Change = (one: One) => Promise<Response>;

/** An answer that breaks off before its end. */
function brokenOff(text: string): Response {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.error(new Error("the line is cut"));
    },
  });
  return new Response(body);
}

/** A change of what was answered after it was done. */
const ofText =
  (change: (text: string, random: () => number) => string): Change => async ({ run, random }) => {
    const answer = await run();
    return answerOf(change(await answer.text(), random), answer);
  };

/** Another body under the same head, whose length is its own. */
function answerOf(body: BodyInit, { status, headers }: Response): Response {
  const kept = new Headers(headers);
  kept.delete("content-length");
  return new Response([204, 304].includes(status) ? null : body, { status, headers: kept });
}

export const CHANGES: Readonly<Record<string, Change>> = {
  "is dropped before it is done": () => Promise.resolve(brokenOff("")),
  "is dropped after it is done": ({ run }) => run().then(() => brokenOff("")),
  "is 500, though it is done": ({ run }) =>
    run().then(() => new Response("Traceback\nRuntimeError: GCS is down", { status: 500 })),
  "is 503, not done": () => Promise.resolve(new Response("busy", { status: 503 })),
  "is 429": () =>
    Promise.resolve(new Response("slower", { status: 429, headers: { "retry-after": "0" } })),
  "is 401": () => Promise.resolve(new Response("Unauthorized", { status: 401 })),
  "leads elsewhere": () => Promise.resolve(Response.redirect("http://127.0.0.1:9/", 302)),
  "is done twice": ({ run }) => run().then(run),
  "comes too late": async ({ run, late_ms }) => {
    const answer = await run();
    await new Promise((resolve) => setTimeout(resolve, late_ms));
    return answer;
  },
  "is cut": ofText((text, random) => text.slice(0, Math.floor(random() * text.length))),
  "has null bytes": ofText((text) => `\u0000${text}\u0000`),
  "has numbers without end": ofText((text) => text.replace(/\d+(\.\d+)?/g, "1e999")),
  "has a prototype": ofText((text) => text.replace("{", '{"__proto__":{"polluted":true},')),
  "is an empty document": ofText(() => "{}"),
  "is null": ofText(() => "null"),
  "is of other jobs": ofText((text) => text.replaceAll(/"[\w-]+-1"/g, '"another-1"')),
  "is garbled": async ({ run, random }) => {
    const answer = await run();
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return answerOf(mutate(bytes, true, random) as BodyInit, answer);
  },
  "never ends": async ({ run, taken }) => {
    await (await run()).body?.cancel();
    const piece = new Uint8Array(1 << 20).fill(32);
    let own = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        taken.bytes = Math.max(taken.bytes, own += piece.length);
        controller.enqueue(piece);
      },
    });
    return new Response(body);
  },
};

/** Changes that leave what was said as it is, or say plainly that nothing was. */
export const PLAIN: readonly string[] = [
  ...["is dropped before it is done", "is dropped after it is done", "is 500, though it is done"],
  ...["is 503, not done", "is 429", "is 401", "leads elsewhere", "is done twice"],
  ...["comes too late", "has null bytes", "never ends"],
];

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Requests that came. */
  readonly seen: () => number;
}

/** Hands every request on to a server; `between` stands before each answer. */
export function proxyTo(
  target: string,
  between: (
    request: Request,
    run: () => Promise<Response>,
    body: ArrayBuffer | null,
  ) => Promise<Response>,
): Proxy {
  let seen = 0;
  const server = Deno.serve(
    {
      ...{ hostname: "127.0.0.1", port: 0, onListen() {} },
      onError: () => new Response(null, { status: 500 }),
    },
    async (request) => {
      seen++;
      const { pathname, search } = new URL(request.url);
      const { method, headers } = request;
      const body = request.body === null ? null : await request.arrayBuffer();
      const run = () => fetch(`${target}${pathname}${search}`, { method, headers, body });
      return await between(request, run, body);
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    seen: () => seen,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
