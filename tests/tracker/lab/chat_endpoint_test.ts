/** The strategist's server, scripted: what it may answer, and what becomes of that. */
import assert from "node:assert/strict";
import { Strategist } from "../../../core/mod.ts";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import { chatEndpoint } from "../../../tracker/lab/search/chat_endpoint.ts";

const KEY = "sk-very-secret";
const QUESTION = [{ role: "user" as const, content: "next?" }];
const answer = (content: unknown) => Response.json({ choices: [{ message: { content } }] });
const text = (body: BodyInit, type: string, status = 200) =>
  new Response(body, { status, headers: { "content-type": type } });

type Script = (request: Request, times: number) => Response | Promise<Response>;

/** Asks a server that answers by the script; the requests that it got. */
async function ask(
  script: Script,
  {
    model = "m",
    timeout_seconds = 20,
    key = KEY,
    signal = new AbortController().signal,
    times = 1,
  }: {
    model?: string | null;
    timeout_seconds?: number;
    key?: string | undefined;
    signal?: AbortSignal;
    times?: number;
  } = {},
) {
  const seen: { path: string; authorization: string | null; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (one) => {
    const body = await one.text();
    seen.push({
      path: new URL(one.url).pathname,
      authorization: one.headers.get("authorization"),
      body,
    });
    return await script(one, seen.length);
  });
  try {
    const base_url = `http://127.0.0.1:${server.addr.port}/v1`;
    const chat = chatEndpoint(Strategist.parse({ base_url, model, timeout_seconds }), key);
    const replies = [];
    for (let n = 0; n < times; n++) replies.push(await chat.ask(QUESTION, signal));
    return { reply: replies.at(-1)!, replies, seen };
  } finally {
    await server.shutdown();
  }
}

const refused = async (script: Script) => {
  const { reply } = await ask(script);
  assert.ok(!reply.ok, JSON.stringify(reply));
  assert.ok(!reply.reason.includes(KEY), reply.reason);
  return reply.reason.replace(/^http:\S+ /, "");
};

Deno.test("a question goes to /chat/completions with the key, and its text comes back", async () => {
  const { reply, seen } = await ask(() => answer("a recipe"));
  assert.deepEqual(reply, { ok: true, text: "a recipe", model: "m" });
  assert.deepEqual(seen.map(({ path }) => path), ["/v1/chat/completions"]);
  assert.equal(seen[0]!.authorization, `Bearer ${KEY}`);
  const body = JSON.parse(seen[0]!.body);
  assert.deepEqual([body.model, body.messages, body.stream], ["m", QUESTION, true]);
  assert.ok(!seen[0]!.body.includes(KEY));
});

Deno.test("without a key none is sent; without a name the only model listed is asked", async () => {
  const listing = (names: string[]): Script => (request) =>
    request.url.endsWith("/models")
      ? Response.json({ data: names.map((id) => ({ id })) })
      : answer("yes");
  const { reply, seen } = await ask(listing(["own"]), { model: null, key: "" });
  assert.deepEqual(reply, { ok: true, text: "yes", model: "own" });
  assert.ok(seen.every(({ authorization }) => authorization === null));
  const several = await ask(listing(["a", "b"]), { model: null });
  assert.ok(
    !several.reply.ok && /it lists a, b: name one by --strategist-model/.test(several.reply.reason),
  );
});

Deno.test("an answer in pieces is put together, as events and as parts", async () => {
  const event = (content: string) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  const events = [": hello\n\n", event("a "), event("réci"), event("pe"), "data: [DONE]\n\n"].join(
    "",
  );
  // Cut in the midst of a character and of a line.
  const bytes = new TextEncoder().encode(events);
  const cut = [bytes.slice(0, 70), bytes.slice(70, 111), bytes.slice(111)];
  const { reply } = await ask(() => text(ReadableStream.from(cut), "text/event-stream"));
  assert.deepEqual(reply, { ok: true, text: "a récipe", model: "m" });
  const parts = await ask(() =>
    answer([{ type: "text", text: "a " }, { type: "text", text: "b" }])
  );
  assert.deepEqual(parts.reply, { ok: true, text: "a b", model: "m" });
});

Deno.test("an answer that streams on ends at its first whole object, and the server is let go", async () => {
  const event = (content: string) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
  const said = [
    "<think>{not",
    " it}",
    "</think>",
    'So {"reason": "a } in',
    ' it", "x": {}',
    "} and",
  ];
  let sent = 0;
  let left = false;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        controller.enqueue(new TextEncoder().encode(event(said[sent++] ?? "more and more ")));
      },
      cancel: () => void (left = true),
    });
  const { reply } = await ask(() => text(endless(), "text/event-stream"));
  const whole = '<think>{not it}</think>So {"reason": "a } in it", "x": {}}';
  assert.deepEqual(reply, { ok: true, text: whole, model: "m" });
  assert.ok(left, "the server goes on for nobody");
  assert.ok(sent < 20, `${sent} pieces were read`);
});

Deno.test("a busy server is asked again after the time that it names, and not for ever", async () => {
  const busy = (wait: string) =>
    new Response("later", { status: 429, headers: { "retry-after": wait } });
  const { reply, seen } = await ask((_, times) => times < 3 ? busy("0") : answer("now"));
  assert.deepEqual([reply.ok, seen.length], [true, 3]);
  const past = new Date(0).toUTCString();
  assert.match(await refused(() => busy(past)), /it is busy \(429\)/);
});

Deno.test("a model that takes no temperature and no limit is asked without them", async () => {
  const { reply, seen } = await ask((_, times) =>
    times === 1
      ? Response.json({ error: "Unsupported parameter: 'max_tokens'" }, { status: 400 })
      : answer("thought over")
  );
  assert.deepEqual(reply, { ok: true, text: "thought over", model: "m" });
  assert.deepEqual(Object.keys(JSON.parse(seen[1]!.body)).sort(), ["messages", "model", "stream"]);
});

Deno.test("what is no answer is told in words", async () => {
  const html = () => text("<!doctype html><html>Sign in</html>", "text/html; charset=utf-8");
  assert.match(await refused(html), /answers with text\/html, which is no JSON: <!doctype html>/);
  assert.match(
    await refused(() => text('{"choices": [', "application/json")),
    /application\/json, which is no/,
  );
  assert.match(
    await refused(() => Response.json({ error: "no" })),
    /no choices\[0\]\.message\.content/,
  );
  assert.match(await refused(() => Response.json(null)), /no choices/);
  assert.match(await refused(() => answer("  ")), /is empty/);
  assert.match(
    await refused(() => text("data: {\n\n", "text/event-stream")),
    /a piece of its answer is no JSON/,
  );
  const bad = () => text(`no key ${KEY} here`, "text/plain", 401);
  assert.match(await refused(bad), /it refuses \(401\): no key \*\*\* here/);
  const elsewhere = () =>
    new Response(null, { status: 302, headers: { location: "http://other/" } });
  assert.match(await refused(elsewhere), /leads to another address/);
});

Deno.test("a key that comes back in an answer is struck out", async () => {
  const { reply } = await ask((request) =>
    answer(`you are ${request.headers.get("authorization")}`)
  );
  assert.deepEqual(reply, { ok: true, text: "you are Bearer ***", model: "m" });
});

Deno.test("an answer without an end is left where it is too long", async () => {
  const piece = new Uint8Array(65_536).fill(97);
  const endless = () =>
    new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
  assert.match(
    await refused(() => text(endless(), "application/json")),
    /longer than 1000000 bytes/,
  );
});

Deno.test("an answer that never comes whole is given up, and after two the server is left alone", async () => {
  const never = () => new ReadableStream<Uint8Array>({ start() {} });
  const { replies, seen } = await ask(() => text(never(), "application/json"), {
    timeout_seconds: 0.05,
    times: 3,
  });
  const said = replies.map((one) => one.ok ? "" : one.reason);
  assert.match(said[0]!, /no whole answer in 0\.05 s/);
  assert.match(said[2]!, /not asked any more, as 2 answers in a row never came whole/);
  assert.equal(seen.length, 2);
});

Deno.test("a study that ends does not wait for an answer; a server that is not there is said", async () => {
  const stop = new AbortController();
  const { reply } = await ask(() => {
    stop.abort();
    return text(new ReadableStream({ start() {} }), "application/json");
  }, { signal: stop.signal });
  assert.ok(!reply.ok && /the study ended/.test(reply.reason), JSON.stringify(reply));
  const gone = chatEndpoint(
    Strategist.parse({ base_url: "http://127.0.0.1:9/v1", model: "m" }),
    KEY,
  );
  const none = await gone.ask(QUESTION, new AbortController().signal);
  assert.ok(!none.ok && /127\.0\.0\.1:9\/v1: it cannot be asked/.test(none.reason));
});

Deno.test("an address with a key in it is refused before anything is stored", () => {
  for (
    const base_url of ["http://user:pass@host/v1", "http://host/v1?api_key=x", "ftp://host", "host"]
  ) {
    assert.equal(Strategist.safeParse({ base_url }).success, false, base_url);
    const document = { model_name: "tiny", dataset: "tiny", strategist: { base_url } };
    assert.throws(
      () => checkStudy(document, "study"),
      (error: Error) => error.name === "UsageError" && !/:pass@|api_key=x/.test(error.message),
    );
  }
});
