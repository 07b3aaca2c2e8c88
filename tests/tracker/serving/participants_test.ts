import assert from "node:assert/strict";
import { isPrivate } from "../../../tracker/serving/participants/guarded_fetch.ts";
import { openParticipant } from "../../../tracker/serving/participants/participant.ts";
import {
  MODELS,
  type ParticipantEndpoint,
  serveParticipant,
} from "../../../tracker/serving/participants/participant_endpoint.ts";
import { message, scriptedAgent, stream, task } from "../../fixtures/scripted_agent.ts";

type Script = Parameters<typeof scriptedAgent>;

/** An agent, and a participant of it. */
async function opened(
  script: Script[0],
  { key = null, timeout_ms = 3000, ...options }:
    & { key?: string | null; timeout_ms?: number }
    & Script[1] = {},
) {
  const agent = scriptedAgent(script, { ...options, key });
  const participant = await openParticipant({ url: agent.url, key, timeout_ms })
    .catch(async (error) => {
      await agent[Symbol.asyncDispose]();
      throw error;
    });
  return { agent, participant, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
}

const refused = (sentence: RegExp) => ({ name: "Error", message: sentence });

Deno.test("an agent answers by a message, a stream, or a task that takes its time", async () => {
  await using plain = await opened(({ text }) => message(`heard ${text}`, { contextId: "c" }));
  assert.deepEqual(await plain.participant.ask("one"), { text: "heard one", context: "c" });

  const parts = (one: string, append: boolean) => ({
    artifactUpdate: {
      ...{ taskId: "t1", contextId: "c", append, lastChunk: append },
      artifact: { artifactId: "a", parts: [{ text: one }] },
    },
  });
  const done = { statusUpdate: { taskId: "t1", contextId: "c", status: task("", "done").status } };
  await using streamed = await opened(
    (asked) =>
      stream(asked, [{ task: task("t1", "works") }, parts("4", false), parts("2", true), done]),
    { streams: true },
  );
  assert.equal((await streamed.participant.ask("6 x 7?")).text, "42");

  let polls = 0;
  await using slow = await opened(({ method }) => {
    if (method === "SendMessage") return { task: task("t2", "works") };
    return ++polls < 2 ? task("t2", "works") : task("t2", "done", "late");
  });
  assert.equal((await slow.participant.ask("?")).text, "late");
  assert.deepEqual(slow.agent.methods, ["SendMessage", "GetTask", "GetTask"]);
});

Deno.test("one that asks back is told once that there is nothing more", async () => {
  const told: string[] = [];
  await using one = await opened(({ text, task: id }) => {
    told.push(`${id}: ${text.slice(0, 13)}`);
    return { task: id === "" ? task("t", "asks") : task("t", "done", "then 7") };
  });
  assert.equal((await one.participant.ask("How many?")).text, "then 7");
  assert.deepEqual(told, [": How many?", "t: There is noth"]);
  await using stubborn = await opened(() => ({ task: task("t", "asks") }));
  await assert.rejects(stubborn.participant.ask("?"), refused(/asks back twice/));
});

Deno.test("an agent of the protocol before 1.0 is asked in its own words", async () => {
  const old = (url: string) => ({
    ...{ supportedInterfaces: undefined, protocolVersion: "0.3.0", url: `${url}/rpc` },
    preferredTransport: "JSONRPC",
  });
  await using one = await opened(
    () => ({
      kind: "message",
      messageId: "m",
      role: "agent",
      parts: [{ kind: "text", text: "old" }],
    }),
    { card: old },
  );
  assert.equal((await one.participant.ask("?")).text, "old");
  assert.deepEqual(one.agent.methods, ["message/send"]);
});

Deno.test("an agent whose interface is plain HTTP is asked by its paths", async () => {
  const paths: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { origin, pathname } = new URL(request.url);
    if (pathname.endsWith("agent-card.json")) {
      return Response.json({
        ...{ name: "by paths", description: "of a test", version: "1", skills: [] },
        supportedInterfaces: [
          { url: `${origin}/agent`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
        ],
        ...{ capabilities: {}, defaultInputModes: ["text"], defaultOutputModes: ["text"] },
      });
    }
    paths.push(`${request.method} ${pathname}`);
    return Response.json(
      request.method === "POST" ? { task: task("t", "works") } : task("t", "done", "by path"),
    );
  });
  await using _closed = { [Symbol.asyncDispose]: () => server.shutdown() };
  const url = new URL(`http://127.0.0.1:${server.addr.port}`);
  const one = await openParticipant({ url, key: null, timeout_ms: 3000 });
  assert.equal((await one.ask("?")).text, "by path");
  assert.deepEqual(paths, ["POST /agent/message:send", "GET /agent/tasks/t"]);
});

Deno.test("a key goes with every request, and one that is refused is said", async () => {
  await using one = await opened(() => message("in"), { key: "secret" });
  assert.equal((await one.participant.ask("?")).text, "in");
  const other = await openParticipant({ url: one.agent.url, key: "wrong", timeout_ms: 1000 });
  await assert.rejects(other.ask("?"), refused(/refuses the key.*\(401\)/));
});

Deno.test("a card that lies is refused before anything is asked", async () => {
  const at = (url: string) => ({
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  });
  const cards: [Record<string, unknown> | string, RegExp][] = [
    [at("http://169.254.169.254/rpc"), /private address http:\/\/169\.254\.169\.254/],
    [at("https://elsewhere.example/rpc"), /names https:\/\/elsewhere\.example, which is not/],
    [at("not a url"), /an address that is none/],
    [at("\n:\u001b[2J//a"), /an address that is none: {2}:\\u001b\[2J\/\/a$/],
    [{ supportedInterfaces: [] }, /names no interface/],
    ["<html>", /its card cannot be read/],
    [{ supportedInterfaces: undefined, name: undefined, url: "http://x" }, /it has no name/],
    ["x".repeat(5 << 20), /longer than 4\.0 MB/],
  ];
  for (const [card, sentence] of cards) {
    await assert.rejects(opened(() => message("?"), { card }), refused(sentence));
  }
});

Deno.test("a stream that never ends is left, and its task cancelled", async () => {
  await using one = await opened((asked) => {
    if (asked.method === "CancelTask") return task("t", "fails");
    return stream(asked, [{ task: task("t", "works") }], true);
  }, { streams: true, timeout_ms: 300 });
  await assert.rejects(one.participant.ask("?"), refused(/its stream did not end within 0\.3 s/));
  for (let i = 0; i < 50 && !one.agent.methods.includes("CancelTask"); i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.ok(one.agent.methods.includes("CancelTask"));
});

Deno.test("an answer of 200 MB is left after 4, said in its head or not", async () => {
  let sent = 0;
  const endless = () => {
    const part = new Uint8Array(1 << 20).fill(32);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += part.length;
        if (sent > 200 << 20) controller.close();
        else controller.enqueue(part);
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };
  await using one = await opened(endless);
  await assert.rejects(one.participant.ask("?"), refused(/longer than 4\.0 MB/));
  assert.ok(sent < 64 << 20, `${sent} bytes were sent`);
});

Deno.test("the task of another question is refused, and a redirect is not followed", async () => {
  await using ids = await opened(() => ({ task: task("same", "done", "?") }));
  assert.equal((await ids.participant.ask("first")).text, "?");
  await assert.rejects(ids.participant.ask("second"), refused(/task of another question/));
  let reached = false;
  const inner = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    reached = true;
    return new Response("{}");
  });
  const location = `http://127.0.0.1:${inner.addr.port}/`;
  await using sent = await opened(() => new Response(null, { status: 307, headers: { location } }));
  await assert.rejects(
    sent.participant.ask("?"),
    refused(/redirects \(307\) to the private address/),
  );
  assert.equal(reached, false);
  await inner.shutdown();
});

Deno.test("addresses of private networks are known by their names", () => {
  const known = [
    "10.1.2.3",
    "192.168.0.1",
    "172.16.0.9",
    "127.0.0.1",
    "localhost",
    "[::1]",
    "0.0.0.0",
  ];
  const others = ["8.8.8.8", "172.32.0.1", "example.org", "[2001:db8::1]"];
  const of = (hosts: string[]) => hosts.map((host) => isPrivate(new URL(`http://${host}/`)));
  assert.deepEqual(of([...known, "[fd00::1]", "[::ffff:10.0.0.1]"]), Array(9).fill(true));
  assert.deepEqual(of(others), Array(4).fill(false));
});

async function chat(
  { base_url }: ParticipantEndpoint,
  content: string,
  more: Record<string, unknown> = {},
) {
  const body = JSON.stringify({ messages: [{ role: "user", content }], ...more });
  const answer = await fetch(`${base_url}/chat/completions`, { method: "POST", body });
  const found = await answer.json();
  return [answer.status, found.choices?.[0].message.content, found.choices?.[0].finish_reason];
}

Deno.test("as an endpoint: a refused question has no text, the others go on, one that is away is 503", async () => {
  let away = false;
  await using one = await opened(({ text }) => {
    if (away) return new Response("", { status: 503 });
    return text === "bad" ? { task: task("t", "fails") } : message(text.toUpperCase());
  });
  const said: string[] = [];
  await using endpoint = serveParticipant(one.participant, {
    onRefused: (line) => said.push(line),
  });
  assert.deepEqual(await Promise.all(["a", "bad", "c"].map((text) => chat(endpoint, text))), [
    [200, "A", "stop"],
    [200, null, "refused: its task failed"],
    [200, "C", "stop"],
  ]);
  assert.deepEqual([...endpoint.refused], [["its task failed", 1]]);
  assert.deepEqual(said, ["its task failed"]);
  assert.deepEqual(await chat(endpoint, "a", { max_tokens: 1 }), [200, ".", "length"]);
  assert.equal((await chat(endpoint, "a", { repeat_penalty: 1 }))[0], 400);
  assert.equal(endpoint.asked(), 3);
  away = true;
  assert.equal((await chat(endpoint, "a"))[0], 503);
});

Deno.test("a debate challenges the answer that was given, once, in the same conversation", async () => {
  const heard: string[] = [];
  await using one = await opened(({ text, context }) => {
    heard.push(context);
    return message(text.includes("Your answer is challenged") ? "8 then" : "7", { contextId: "c" });
  });
  await using endpoint = serveParticipant(one.participant, { challenged: true });
  assert.equal((await chat(endpoint, "5 + 3?", { model: MODELS.first }))[1], "7");
  assert.equal((await chat(endpoint, "5 + 3?", { model: MODELS.challenged }))[1], "8 then");
  assert.deepEqual(heard, ["", "c"]);
});
