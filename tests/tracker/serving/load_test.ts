import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../../../core/mod.ts";
import { clientLimit } from "../../../tracker/serving/load/client_limit.ts";
import { askStream } from "../../../tracker/serving/load/ask_stream.ts";
import { findTarget } from "../../../tracker/serving/load/find_target.ts";
import { measureStep } from "../../../tracker/serving/load/measure_load.ts";
import { runPart, type StepAsked } from "../../../tracker/serving/load/run_step.ts";
import { comparedLine } from "../../../tracker/commands/serve/load_text.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { runPare } from "../../fixtures/programs.ts";
import { streamingServer } from "../../fixtures/streaming_server.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const STEP: StepAsked = {
  ...{ load: "concurrency", level: 2, arrivals: "constant", warming: 1, requests: 6 },
  ...{ prompt_tokens: 8, output_tokens: 5, answer_seconds: 30 },
};
const NO_LIMITS = { first_token_ms: null, between_tokens_ms: null };
const { signal } = new AbortController();

Deno.test("times of a served model are those that it takes", async () => {
  await using server = streamingServer({ first_ms: 60, between_ms: 20, ignores_ends: true });
  const target = await findTarget(server.url, undefined, 4, signal);
  assert.deepEqual([target.model, target.completes, target.ignores_ends], ["timed", true, true]);
  const [step] = await measureStep([target], STEP, NO_LIMITS, 1, signal);
  const { summary, requests } = step!;
  assert.deepEqual([summary.requests, summary.failed, requests.length], [6, 0, 7]);
  const near = (value: number | null, wanted: number, most: number) =>
    assert.ok(
      value !== null && value >= wanted - 2 && value < wanted + most,
      `${value}, ${wanted}`,
    );
  near(summary.first_token.p50, 60, 40);
  near(summary.between_tokens.p50, 20, 15);
  near(summary.latency.p50, 140, 90);
  assert.equal(server.most, 2, "two at a time");
  assert.ok(requests.every((one) => one.output_tokens === 5 && one.prompt_tokens === 8));
  const prompts = server.asked.map(({ body }) => body.prompt);
  assert.equal(new Set(prompts).size, prompts.length, "no prompt is sent twice");
});

Deno.test("a rate is kept to whether the server keeps up or not", async () => {
  await using server = streamingServer({ first_ms: 400, between_ms: 1, ignores_ends: true });
  const target = await findTarget(server.url, undefined, 2, signal);
  const state = { done: [], random: seededRandom(1), active_ms: 0 };
  const before = server.asked.length;
  const asked: StepAsked = { ...STEP, load: "rate", level: 20, warming: 0, requests: 10 };
  await runPart(target, asked, state, signal);
  const times = server.asked.slice(before).map(({ at }) => at);
  assert.equal(times.length, 10);
  const took = times.at(-1)! - times[0]!;
  assert.ok(took > 400 && took < 700, `nine gaps of 50 ms took ${took}`);
  assert.ok(server.most > 5, "it does not wait for answers");
});

Deno.test("what fails is counted and is no answer; a server without ends or completions is met", async () => {
  await using server = streamingServer({ first_ms: 1, between_ms: 1, fails_each: 3 });
  const target = await findTarget(server.url, undefined, 4, signal);
  assert.equal(target.ignores_ends, false);
  const [step] = await measureStep([target], { ...STEP, warming: 0 }, NO_LIMITS, 1, signal);
  assert.equal(step!.summary.failed, 2);
  const errors = step!.requests.filter(({ error }) => error !== null);
  assert.ok(
    errors.every(({ error, latency_ms }) => error === "503 too busy" && latency_ms === null),
  );

  await using chats = streamingServer({ first_ms: 1, between_ms: 1, chat_only: true });
  assert.equal((await findTarget(chats.url, undefined, 4, signal)).completes, false);
  await assert.rejects(
    findTarget(chats.url, "tmied", 4, signal),
    /Unknown model "tmied". Did you mean/,
  );
  await assert.rejects(
    findTarget("http://127.0.0.1:1", undefined, 4, signal),
    /nobody answers there/,
  );
});

Deno.test("a server that refuses the key, or lists its models in no JSON, is told as such", async () => {
  const answers = [
    new Response("Unauthorized", { status: 401 }),
    new Response("\0\0", { headers: { "content-type": "application/json" } }),
  ];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => answers.shift()!,
  );
  const url = `http://127.0.0.1:${server.addr.port}/v1`;
  const refused = (why: RegExp) => assert.rejects(findTarget(url, undefined, 4, signal), why);
  await refused(/Cannot load .*answered with 401: it does not take the key in OPENAI_API_KEY/);
  await refused(/Cannot load .*answered with JSON that cannot be read/);
});

Deno.test("an answer that never ends, never comes or comes in one enormous line has failed, and the others count", async () => {
  const say = (out: ReadableStreamDefaultController<Uint8Array>, text: string) =>
    out.enqueue(new TextEncoder().encode(text));
  const token = `data: ${JSON.stringify({ choices: [{ text: " a" }] })}\n\n`;
  const ways: ((out: ReadableStreamDefaultController<Uint8Array>) => void)[] = [
    () => {},
    (out) => say(out, token.repeat(200)),
    (out) => say(out, `data: ${"x".repeat(2 << 20)}`),
    (out) => {
      say(out, `${token}data: [DONE]\n\n`);
      out.close();
    },
    (out) => {
      say(out, token);
      out.close();
    },
  ];
  let asked = 0;
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    const way = ways[asked++ % ways.length]!;
    return new Response(new ReadableStream<Uint8Array>({ start: way }));
  });
  const base_url = `http://127.0.0.1:${server.addr.port}/v1`;
  const target = { base_url, model: "m", completes: true, ignores_ends: true };
  const told = [];
  for (let number = 0; number < ways.length; number++) {
    const answered = await askStream(target, {
      ...{ prompt: "a", output_tokens: 5, answer_seconds: 1, signal },
    });
    told.push(answered.error);
  }
  assert.deepEqual(told, [
    "it was not whole after 1 s",
    "it goes on after 48 events, 5 tokens were asked",
    "a line of its answer is longer than 1048576 bytes",
    null,
    "its stream ended without [DONE]",
  ]);
});

Deno.test("the key goes to no server that the named one leads to", async () => {
  const met: (string | null)[] = [];
  const serve = (handler: (request: Request) => Response) =>
    Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);
  await using other = serve((request) => {
    met.push(request.headers.get("authorization"));
    return Response.json({ data: [{ id: "m" }] });
  });
  await using named = serve(() =>
    Response.redirect(`http://127.0.0.1:${other.addr.port}/v1/models`, 307)
  );
  const url = `http://127.0.0.1:${named.addr.port}`;
  await assert.rejects(findTarget(url, undefined, 4, signal), /Cannot load .*: nobody answers/);
  assert.deepEqual(met, []);
});

Deno.test("two servers take turns, each first as often, with the same prompts", async () => {
  await using slow = streamingServer({ first_ms: 300, between_ms: 5, ignores_ends: true });
  await using quick = streamingServer({ first_ms: 15, between_ms: 5, ignores_ends: true });
  const targets = [
    await findTarget(slow.url, undefined, 2, signal),
    await findTarget(quick.url, undefined, 2, signal),
  ];
  const asked = { ...STEP, level: 1, requests: 8 };
  const [one, other] = await measureStep(targets, asked, NO_LIMITS, 1, signal);
  assert.deepEqual([one!.summary.requests, other!.summary.requests], [8, 8]);
  assert.equal(one!.parts.length, 4);
  const first = (step: typeof one) => step!.parts.map(({ first_token }) => first_token.p50!);
  assert.ok(first(one).every((part, at) => part > 1.5 * first(other)[at]!));
  assert.match(
    comparedLine([one!, other!])!,
    /^concurrency 1, .* 4 turns: time to the first token [\d.]+ \([\d.]+ to [\d.]+\), time between tokens [\d.]+ \(.*\), tokens\/s 0\.\d\d \(.*\)$/,
  );
  // Medians of all parts together say what no turn does.
  const off = { ...one!, summary: { ...one!.summary, output_tokens_per_second: 1e6 } };
  const [, mean, least, most] = /tokens\/s ([\d.]+) \(([\d.]+) to ([\d.]+)\)/.exec(
    comparedLine([off, other!])!,
  )!.map(Number);
  assert.ok(least! <= mean! && mean! <= most!, `${mean} (${least} to ${most})`);
  const sent = [slow, quick].map(({ asked }) => asked.slice(-8).map(({ body }) => body.prompt));
  assert.deepEqual(sent[0], sent[1]);
  const order = [
    ...slow.asked.slice(-8).map(({ at }) => ({ at, who: "slow" })),
    ...quick.asked.slice(-8).map((
      { at },
    ) => ({ at, who: "quick" })),
  ].sort((a, b) => a.at - b.at).map(({ who }) => who);
  const turns = order.filter((who, at) => who !== order[at - 1]);
  assert.deepEqual(
    turns,
    ["slow", "quick", "slow", "quick", "slow"],
    "in turn, each first in turn",
  );
  assert.ok(other!.summary.seconds < 8 * 0.3, "the other's time is none of its own");
});

Deno.test("the client's own limit is that of a server that does nothing", async () => {
  const limit = await clientLimit(
    { prompt_tokens: 8, output_tokens: 4, answer_seconds: 30 },
    signal,
  );
  assert.ok(limit.requests_per_second > 50, `${limit.requests_per_second}`);
  const each = limit.tokens_per_second / limit.requests_per_second;
  assert.ok(Math.abs(each - 4) < 0.01);
});

Deno.test("pare load leaves rows and a figure, and refuses what it cannot do", async () => {
  await using server = streamingServer({ first_ms: 20, between_ms: 2, ignores_ends: true });
  const home = temporaryFolder("load");
  const env = { PARE_HOME: home };
  const figure = join(home, "figure");
  const words = ["load", server.url, "--concurrency", "1,2", "--requests", "4"];
  const { stdout, exitCode, stderr } = await runPare([
    ...[...words, "--output-tokens", "4", "--first-token-limit", "1000", "--output", figure],
  ], env);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /1 at a time .*\n2 at a time /);
  assert.match(stdout, /the client itself makes [\d.]+ requests\/s/);
  assert.ok(existsSync(join(figure, "load.svg")));
  await using store = await openStore(join(home, "store"), { write: false });
  const rows = await store.ask(`SELECT l.load_step, l.level, l.requests, l.failed, l.goodput,
      l.first_token_p50_ms, count(*) FILTER (r.phase = 'measured') AS counted,
      count(*) FILTER (r.phase = 'warming') AS warm
    FROM loads l JOIN load_requests r USING (study_id, server, load_step) GROUP BY ALL ORDER BY 1`);
  assert.deepEqual(
    rows.map(({ level, requests, failed, counted, warm }) => [
      ...[level, requests, failed, Number(counted), Number(warm)],
    ]),
    [[1, 4, 0, 4, 2], [2, 4, 0, 4, 2]],
  );
  assert.ok(rows.every(({ first_token_p50_ms }) => Number(first_token_p50_ms) >= 18));
  assert.ok(rows.every(({ goodput }) => Number(goodput) > 0));

  const both = await runPare([...words, "--rate", "1"], env);
  assert.match(both.stderr, /^pare: Cannot take --rate and --concurrency at once/);
  const nobody = await runPare(["load", "http://127.0.0.1:1"], env);
  assert.match(nobody.stderr, /^pare: Cannot load http:\/\/127\.0\.0\.1:1.*nobody answers there/);
});
