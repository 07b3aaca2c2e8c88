/**
 * A server that does nothing: as a worker, it answers every request by its tokens at once, so that what
 * a load makes of it is the client's own limit.
 */
const worker = self as unknown as { postMessage(message: unknown): void };
const encoder = new TextEncoder();

const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  if (request.method === "GET") return Response.json({ data: [{ id: "null" }] });
  const { max_tokens } = await request.json();
  const event = (content: unknown) => `data: ${JSON.stringify(content)}\n\n`;
  const body = new ReadableStream<Uint8Array>({
    start(stream) {
      for (let token = 0; token < max_tokens; token++) {
        stream.enqueue(encoder.encode(event({ choices: [{ text: " a" }] })));
      }
      const usage = { prompt_tokens: 1, completion_tokens: max_tokens };
      stream.enqueue(encoder.encode(event({ choices: [], usage }) + "data: [DONE]\n\n"));
      stream.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});
worker.postMessage((server.addr as Deno.NetAddr).port);
