import assert from "node:assert/strict";
import { join } from "node:path";
import type { CallRequest } from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { lockOwner, tryLock, withFileLock } from "../../python-backends/file_lock.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { runScripted, shareDefaultEnvironment, until } from "./scripted_worker.ts";

/** A call that asks for its turn, then tells that it has it. */
const ASKS = `report.take_turn()\nreport.progress("timed", 1, 1, "turns")\n` +
  `raise CallFailure("invalid", "done")`;

Deno.test("a call begins to time once its turn has come, and whoever waits for it is not silent", async () => {
  const seen: string[] = [];
  const turn = Promise.withResolvers<void>();
  const running = runScripted(ASKS, {
    stallMs: 300,
    onEvent: ({ event }) => seen.push(event),
    onTurn: () => turn.promise,
  });
  await until("it asks", () => seen.includes("turn"));
  await new Promise((resolve) => setTimeout(resolve, 900)); // three times what is called silence
  assert(!seen.includes("progress"), "it went on before its turn");
  turn.resolve();
  const outcome = await running;
  assert(!outcome.ok);
  assert.equal(outcome.failure.message, "done");
  assert(seen.includes("progress"));
});

Deno.test("a turn that nobody has to give comes at once, and one that cannot come ends the call", async () => {
  const once = await runScripted(ASKS);
  assert(!once.ok);
  assert.equal(once.failure.message, "done");
  const never = await runScripted(ASKS, { onTurn: () => Promise.reject(new Error("no lock")) });
  assert(!never.ok);
  assert.match(never.failure.message, /^Cannot describe as its turn did not come: no lock$/);
});

/** A call that times, of which nothing is loaded before its turn. */
function timedCall(): CallRequest {
  const artifact_dir = temporaryFolder("artifact");
  const config = { vocab_size: 10, max_position_embeddings: 100 };
  Deno.writeTextFileSync(join(artifact_dir, "config.json"), JSON.stringify(config));
  return {
    call: "time_caches",
    runtime: "nowhere",
    artifact_dir,
    form_dir: artifact_dir,
    settings: [],
    contexts: [8],
    new_tokens: 4,
    turn_tokens: 1,
    passes: 1,
    seed: 0,
  };
}

Deno.test("a timing waits while another holds the machine, and can be cancelled", async () => {
  await shareDefaultEnvironment();
  const home = temporaryFolder("home");
  const path = join(home, "timing.lock");
  const client = createBackendClient({ home });
  const controller = new AbortController();
  const seen: string[] = [];
  await withFileLock(path, { guard: home }, async () => {
    const outcome = client.run(timedCall(), {
      environment: "default",
      signal: controller.signal,
      onEvent: (event) => seen.push(event.event === "span" ? event.name : event.event),
    });
    await until("it asks", () => seen.includes("turn"));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert(!seen.includes("load"), "it waits for the lock");
    controller.abort();
    const ended = await outcome;
    assert(!ended.ok);
    assert.equal(ended.failure.kind, "cancelled");
  });
  await new Promise((resolve) => setTimeout(resolve, 250)); // longer than between two tries
  assert.equal(lockOwner(path), null, "who was cancelled takes no lock");
});

Deno.test("a timing has the lock from its turn to its end, whatever its study's turn is", async () => {
  await shareDefaultEnvironment();
  const home = temporaryFolder("home");
  const path = join(home, "timing.lock");
  const client = createBackendClient({ home });
  const turn = Promise.withResolvers<void>();
  const held: [string, boolean][] = [];
  const outcome = client.run(timedCall(), {
    environment: "default",
    onTurn: () => turn.promise,
    onEvent: (event) => held.push([event.event, lockOwner(path) !== null]),
  });
  await until("it asks", () => held.some(([event]) => event === "turn"));
  using free = tryLock(path, home);
  assert(free !== null, "it holds no lock before");
  free.release();
  assert(!held.some(([event]) => event === "failure"), "it goes on in its study's turn");
  turn.resolve();
  const ended = await outcome;
  assert(!ended.ok); // of a runtime that nobody has
  assert.deepEqual(held.filter(([event]) => event === "failure"), [["failure", true]]);
  assert.equal(lockOwner(path), null);
  assert.deepEqual(ended.spans.map(({ name }) => name).slice(-2), ["lock", "imports beside"]);
});
