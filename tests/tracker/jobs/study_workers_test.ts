/** A study's workers on an engine: who runs what, alone or beside others, and what a lost one costs. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Attempt, Engine, EngineState, WorkerEvent } from "../../../core/mod.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { openArtifactStore } from "../../../tracker/artifacts/artifact_store.ts";
import { sendGiven } from "../../../tracker/artifacts/remote/given.ts";
import { openObjectStore } from "../../../tracker/artifacts/remote/object_store.ts";
import { attemptPaths } from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { workersOn } from "../../../tracker/jobs/workers/worker_client.ts";
import { WorkerPool } from "../../../tracker/jobs/workers/worker_pool.ts";
import {
  Heard,
  type NamedInputs,
  say,
  Told,
  wirePaths,
} from "../../../tracker/jobs/workers/worker_wire.ts";
import { callProgram, plainPython, until } from "../../python-backends/scripted_worker.ts";
import { s3InMemory } from "../../fixtures/s3_server.ts";
import { playedCards } from "../../fixtures/played_cards.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const ONE = { cpu: 1, gpu: 0, memory_gb: null };
const ALL = { cpu: 2, gpu: 0, memory_gb: 4 };

interface Place {
  readonly host: string;
  readonly machine: string;
}

/** An engine whose workers this test plays: each call stays open until it is answered. */
function playedEngine(places: readonly Place[]) {
  const begun: { folder: string; host: string; environment: string; call: number }[] = [];
  const heard = new Map<string, { place: Place; calls: Heard<Told> }>();
  const ended = new Set<string>();
  const asked: Attempt[] = [];
  const engine: Engine = {
    name: "played",
    submit(attempt) {
      asked.push(attempt);
      const { folder } = attempt;
      const place = places[(asked.length - 1) % places.length]!;
      heard.set(folder, { place, calls: new Heard(wirePaths(folder).calls, Told) });
      say(wirePaths(folder).said, { hello: place });
      return Promise.resolve(folder);
    },
    states(handles) {
      const stateOf = (one: string): EngineState =>
        ended.has(one) ? { state: "ended", how: "lost", code: null } : { state: "running" };
      return Promise.resolve(new Map(handles.map((one) => [one, stateOf(one)])));
    },
    logs: () => Promise.resolve({ bytes: new Uint8Array(), next: 0, more: false }),
    save: () => Promise.resolve(),
    cancel: (handle) => Promise.resolve(lose(handle)),
    capacity: () => Promise.resolve({ total: ALL, free: ALL, largest: ALL, machine: "played" }),
    find: () => Promise.resolve([]),
  };
  function lose(folder: string) {
    ended.add(folder);
    writeWhole(attemptPaths(folder).result, {
      ...{ id: "pare-1", attempt: 1, token: "t", how: "cancelled" },
      ...{ code: null, signal: null, not_started: null, seconds: 0 },
    });
  }
  const look = () => {
    for (const [folder, { place, calls }] of heard) {
      for (const told of calls.look()) {
        if ("run" in told) {
          begun.push({ folder, host: place.host, environment: told.environment, call: told.run });
        } else if ("stop" in told) {
          const failure = { kind: "cancelled" as const, message: "", hint: null, phase: null };
          say(wirePaths(folder).said, { call: told.stop, failure, spans: [] });
        } else if ("end" in told) lose(folder);
      }
    }
  };
  const answer = (environment: string) => {
    const { folder, call } = begun.findLast((one) => one.environment === environment)!;
    say(wirePaths(folder).said, { call, value: environment, spans: [] });
  };
  const playing = setInterval(look, 5);
  return { engine, asked, begun, lose, answer, end: () => clearInterval(playing) };
}

/** A pool over such an engine; calls are told apart by their environment. */
async function withPool(
  places: readonly Place[],
  test: (world: {
    played: ReturnType<typeof playedEngine>;
    pool: WorkerPool;
    run: (
      environment: string,
      more?: { timed?: true; signal?: AbortSignal; onEvent?: (event: WorkerEvent) => void },
    ) => ReturnType<WorkerPool["run"]>;
    said: string[];
    folder: string;
  }) => Promise<void>,
) {
  const played = playedEngine(places);
  const run_folder = join(temporaryFolder("workers"), "run-1");
  const said: string[] = [];
  const pool = new WorkerPool({
    ...{ engine: played.engine, count: places.length, slots: ONE, run_folder, id: "pare-1" },
    say: (line) => said.push(line),
    settings: {
      ...{ home: run_folder, offline: false, pins_folders: [], env: {}, threads: 1 },
      ...{ run_folder, study_host: "here", given: null },
    },
  });
  const run = (environment: string, { timed, ...more }: Parameters<typeof started>[1] = {}) =>
    started(environment, { ...(timed ? { timed } : {}), ...more });
  function started(
    environment: string,
    { timed, ...more }: {
      timed?: true;
      signal?: AbortSignal;
      onEvent?: (event: WorkerEvent) => void;
    } = {},
  ) {
    const options = { environment, ...more };
    return pool.run({ request: { call: "describe" }, options, timed: timed === true });
  }
  try {
    await test({ played, pool, run, said, folder: run_folder });
  } finally {
    await pool.close();
    played.end();
    assert.equal(existsSync(run_folder), false, "the run's folder was left");
  }
}

const TWO_HERE = [{ host: "a", machine: "xeon" }, { host: "a", machine: "xeon" }];
const valueOf = (outcome: { ok: boolean; value?: unknown }) => outcome.ok ? outcome.value : outcome;

Deno.test("workers run calls side by side, and what is timed has its machine for itself", async () => {
  await withPool(TWO_HERE, async ({ played, run }) => {
    const names = () => played.begun.map(({ environment }) => environment);
    const first = run("first");
    await until("it runs", () => names().includes("first"));
    const timing = run("timing", { timed: true });
    const third = run("third");
    await delay(100);
    assert.deepEqual(names(), ["first"], "a timing, or what came after it, began beside a call");
    played.answer("first");
    assert.equal(valueOf(await first), "first");
    await until("the timing runs", () => names().includes("timing"));
    await delay(60);
    assert.deepEqual(names(), ["first", "timing"], "a call began beside a timing");
    played.answer("timing");
    assert.equal(valueOf(await timing), "timing");
    const fourth = run("fourth");
    await until("both run", () => names().length === 4);
    const [third_one, fourth_one] = played.begun.slice(2);
    assert.notEqual(third_one!.folder, fourth_one!.folder);
    for (const one of ["third", "fourth"]) played.answer(one);
    assert.deepEqual([valueOf(await third), valueOf(await fourth)], ["third", "fourth"]);
  });
});

Deno.test("a timing stops no other machine, and is made on the study's kind of machine alone", async () => {
  const places = [{ host: "a", machine: "xeon" }, { host: "b", machine: "epyc" }];
  await withPool(places, async ({ played, run }) => {
    const timings = ["one", "two"].map((name) => run(name, { timed: true }));
    const other = run("other");
    await until("two run", () => played.begun.length === 2);
    const hosts = new Map(played.begun.map(({ environment, host }) => [environment, host]));
    assert.deepEqual([...hosts], [["one", "a"], ["other", "b"]]);
    played.answer("other");
    await other;
    await delay(60);
    assert.equal(played.begun.length, 2, "a timing went to another kind of machine");
    played.answer("one");
    await until("the second timing runs", () => played.begun.length === 3);
    played.answer("two");
    await Promise.all(timings);
    assert.equal(played.begun[2]!.host, "a");
  });
});

Deno.test("a study whose machines became others is timed no more, and told so", async () => {
  const places = [{ host: "a", machine: "xeon" }];
  await withPool(places, async ({ played, run }) => {
    const first = run("first");
    await until("it runs", () => played.begun.length === 1);
    places[0] = { host: "b", machine: "epyc" };
    played.lose(played.begun[0]!.folder);
    await until("it runs again", () => played.begun.length === 2);
    played.answer("first");
    await first;
    const outcome = await run("timing", { timed: true });
    assert.ok(!outcome.ok);
    assert.match(outcome.failure.message, /timed on xeon and its workers now are epyc/);
  });
});

Deno.test("a call whose worker is lost runs again on another one, three times at most", async () => {
  await withPool([TWO_HERE[0]!], async ({ played, run, said }) => {
    const told: WorkerEvent[] = [];
    const outcome = run("unlucky", { onEvent: (event) => told.push(event) });
    for (const times of [1, 2, 3]) {
      await until(`it runs for the ${times}. time`, () => played.begun.length === times);
      const { folder } = played.begun.at(-1)!;
      if (times === 2) Deno.writeTextFileSync(wirePaths(folder).said, "\0{}\n", { append: true });
      else played.lose(folder); // the second one says what nobody reads, and is ended for it
    }
    const ended = await outcome;
    assert.ok(!ended.ok);
    assert.equal(ended.failure.kind, "crash");
    assert.match(ended.failure.message, /worker 1 on a was lost: .*it was tried 3 times/);
    assert.equal(told.filter((one) => one.event === "alert").length, 3);
    assert.equal(new Set(played.begun.map(({ folder }) => folder)).size, 3);
    assert.equal(said.filter((line) => line.includes("was lost")).length, 3);
    const next = run("next");
    await until("the next one runs", () => played.begun.length === 4);
    played.answer("next");
    assert.equal(valueOf(await next), "next");
  });
});

Deno.test("what is cancelled is stopped where it runs, or never begins", async () => {
  await withPool([TWO_HERE[0]!], async ({ played, run }) => {
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = run("first", { signal: running.signal });
    const second = run("second", { signal: waiting.signal });
    await until("it runs", () => played.begun.length === 1);
    waiting.abort();
    running.abort();
    for (const one of await Promise.all([first, second])) {
      assert.equal(one.ok ? "" : one.failure.kind, "cancelled");
    }
    assert.equal(played.begun.length, 1);
  });
});

Deno.test("an engine that refuses its workers fails what waits in one sentence, and what comes", async () => {
  const played = playedEngine(TWO_HERE);
  played.engine.submit = () => Promise.reject(new Error("no such account"));
  const run_folder = join(temporaryFolder("workers"), "run-1");
  const pool = new WorkerPool({
    ...{ engine: played.engine, count: 1, slots: ONE, run_folder, id: "pare-1", say: () => {} },
    settings: {
      ...{ home: run_folder, offline: false, pins_folders: [], env: {}, threads: 1 },
      ...{ run_folder, study_host: "here", given: null },
    },
  });
  for (let tries = 0; tries < 2; tries++) {
    const options = { environment: "default" };
    const outcome = await pool.run({ request: { call: "describe" }, options, timed: false });
    assert.ok(!outcome.ok);
    assert.equal(outcome.failure.message, "Cannot work on played: no such account");
  }
  await pool.close();
  played.end();
});

Deno.test("as many workers as an engine has threads or cards, and no more", () => {
  const { engine, end } = playedEngine(TWO_HERE);
  end();
  const of = (cpu: number, gpu: number, machines: number, asked?: number | "auto") => {
    const total = { cpu, gpu, memory_gb: null };
    const largest = { cpu: cpu / machines, gpu: gpu / machines, memory_gb: null };
    const { count, slots } = workersOn(
      { total, free: total, largest, machine: "m" },
      engine,
      asked,
    );
    return [count, slots.cpu, slots.gpu];
  };
  assert.deepEqual(of(2, 0, 1), [1, 2, 0]);
  assert.deepEqual(of(2, 0, 1, 2), [2, 1, 0]);
  assert.deepEqual(of(64, 0, 4, 2), [2, 16, 0]); // none is spread over machines
  assert.deepEqual(of(64, 0, 4, "auto"), [16, 4, 0]);
  assert.deepEqual(of(64, 8, 2, "auto"), [8, 8, 1]);
  assert.throws(() => of(2, 0, 1, 3), {
    name: "UsageError",
    message:
      "Cannot run 3 workers on played as each takes 1 of 2 threads: give --workers 2 or less, or " +
      "say what one takes by worker in engines.yaml",
  });
  assert.throws(() => of(64, 8, 2, 9), /each takes 8 of 64 threads and 1 of 8 cards/);
  engine.worker = { cpu: 16, gpu: 2, memory_gb: null };
  assert.deepEqual(of(64, 8, 2, "auto"), [4, 16, 2]);
  // Four cards in all are no three of one machine.
  engine.worker = { cpu: 16, gpu: 3, memory_gb: null };
  assert.throws(() => of(64, 4, 2), {
    message:
      "Cannot run a worker on played as it takes 3 cards and no machine there has so much: ask for " +
      "less by worker in engines.yaml",
  });
  assert.throws(() => of(0, 0, 1), /no machine that is up/);
});

/** One real worker on this machine's slots, whose Python call does what `body` says. */
async function realPool(
  folder: string,
  body: string,
  cards: readonly string[],
  said: string[],
  given: NamedInputs | null = null,
) {
  const python = join(folder, "python");
  const script = join(folder, "worker.py");
  await Deno.writeTextFile(script, callProgram(body));
  await Deno.writeTextFile(python, `#!/bin/sh\nexec ${await plainPython()} ${script}\n`, {
    mode: 0o755,
  });
  const devices = { slots: { ...ALL, gpu: cards.length }, cards, machine: "here" };
  const engine = new LocalEngine(join(folder, "books"), devices);
  const run_folder = join(folder, "run-1");
  const slots = { ...ONE, gpu: Math.min(1, cards.length) };
  const say = (line: string) => said.push(line);
  const pool = new WorkerPool({
    ...{ engine, count: 1, slots, run_folder, id: "pare-real", say },
    settings: {
      ...{ home: folder, offline: false, pins_folders: [], env: {}, threads: 1 },
      ...{ run_folder, study_host: Deno.hostname(), given },
    },
  });
  Deno.env.set("PARE_ENV_REAL", python);
  Deno.env.set("PARE_NURSERY", "0");
  return { pool, engine, run_folder };
}

const DESCRIBED = {
  request: { call: "describe" },
  options: { environment: "real" },
  timed: false,
} as const;

Deno.test("a call whose card is lost runs again on another one, and that one is not given any more", async () => {
  const folder = temporaryFolder("lost-card");
  const runs = join(folder, "runs");
  await playedCards(folder);
  const said: string[] = [];
  const body = `card = os.environ["CUDA_VISIBLE_DEVICES"]
with open(${JSON.stringify(runs)}, "a") as log: log.write(card + "\\n")
if card == "0":
    open(${JSON.stringify(join(folder, "lost-0"))}, "w").close()
    raise RuntimeError("CUDA error: unspecified launch failure")
return {"methods": []}`;
  const { pool, engine } = await realPool(folder, body, ["0", "1"], said);
  const told: WorkerEvent[] = [];
  const options = { ...DESCRIBED.options, onEvent: (event: WorkerEvent) => told.push(event) };
  const outcome = await pool.run({ ...DESCRIBED, options });
  assert.ok(outcome.ok, JSON.stringify(outcome));
  assert.equal(Deno.readTextFileSync(runs), "0\n1\n");
  assert.match(
    said.join("\n"),
    /worker 1 on \S+ was lost: card 0 does not answer any more; another/,
  );
  assert.equal(told.filter(({ event }) => event === "alert").length, 1);
  assert.equal((await engine.capacity()).total.gpu, 1);
  await pool.close();
  engine[Symbol.dispose]();
});

Deno.test("a real worker fetches the model that lacks there, is replaced where it is killed, and ends with its study", async () => {
  const folder = temporaryFolder("real-workers");
  const [runs, model] = [join(folder, "runs"), join(folder, "model.gguf")];
  await using server = s3InMemory();
  for (const [name, value] of Object.entries(server.env)) Deno.env.set(name, value);
  const objects = openObjectStore("s3://models/pare", server.env);
  await Deno.writeTextFile(model, "weights");
  using artifacts = await openArtifactStore(join(folder, "other"));
  await sendGiven(objects, model, artifacts.checksums);
  await Deno.remove(model);
  const body = `assert open(${JSON.stringify(model)}).read() == "weights"
with open(${JSON.stringify(runs)}, "a") as log: log.write("run\\n")
if len(open(${JSON.stringify(runs)}).readlines()) == 1: time.sleep(60)
return {"methods": []}`;
  const given = { objects: objects.address, paths: [model] };
  const { pool, engine, run_folder } = await realPool(folder, body, [], [], given);
  const outcome = pool.run(DESCRIBED);
  await until("it runs", () => existsSync(runs));
  const serving = pidOf("serve_calls.ts", run_folder);
  Deno.kill(serving, "SIGKILL");
  const ended = await outcome;
  assert.ok(ended.ok, JSON.stringify(ended));
  assert.equal(Deno.readTextFileSync(runs), "run\nrun\n");
  await pool.close();
  engine[Symbol.dispose]();
  assert.equal(existsSync(run_folder), false);
});

/** The process of this machine that has both among its words. */
function pidOf(program: string, word: string): number {
  const found = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).find((pid) => {
    try {
      const words = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
      return words.includes(program) && words.includes(word) && !words.includes("run_attempt");
    } catch {
      return false;
    }
  });
  return Number(found);
}
