/** What a proxy does with a request: lets it through, or spoils it. */
export type Trouble =
  | "none"
  /** Refused with Retry-After, not forwarded. */
  | "busy"
  /** Forwarded and done; the answer is 500. */
  | "lost answer"
  /** Not forwarded; 500. */
  | "broken"
  /** Not forwarded and not answered for a while. */
  | "hangs"
  /** Forwarded and done; the answer ends after its first byte. */
  | "cut";

/** A proxy before a server: what is done with each request, counted from 1, is the test's to say. */
export function troubledProxy(target: string, trouble: (count: number) => Trouble) {
  let count = 0;
  const headers: (string | null)[] = [];
  const waiting = new AbortController();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      headers.push(request.headers.get("authorization"));
      const kind = trouble(++count);
      if (kind === "busy") {
        return new Response("", { status: 429, headers: { "retry-after": "0" } });
      }
      if (kind === "broken") return new Response("broken", { status: 500 });
      if (kind === "hangs") {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 8_000);
          waiting.signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
          });
        });
        return new Response("", { status: 504 });
      }
      const { pathname, search } = new URL(request.url);
      const body = request.body === null ? null : await request.arrayBuffer();
      const sent = new Headers(request.headers);
      sent.delete("host");
      const answer = await fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers: sent,
        body,
      });
      const bytes = await answer.arrayBuffer();
      if (kind === "lost answer") return new Response("lost", { status: 500 });
      if (kind === "cut") return new Response(bytes.slice(0, 1));
      return new Response(bytes, { status: answer.status, headers: answer.headers });
    },
  );
  return {
    uri: `http://127.0.0.1:${server.addr.port}`,
    headers,
    get count() {
      return count;
    },
    async stop() {
      waiting.abort();
      await server.shutdown();
    },
  };
}
