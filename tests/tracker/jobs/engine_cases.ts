/** What every engine must do: each engine's tests run these over it, really. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Attempt, Engine, EngineState, Handle, Slots } from "../../../core/jobs/engine.ts";
import { isAlive } from "../../../python-backends/process_owner.ts";
import {
  attemptPaths,
  readAsked,
  readResult,
} from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { seenAttempt } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { closeAttempt, readLease, watchLeases } from "../../../tracker/jobs/attempt/lease.ts";

/** An engine that runs, and the disk that it shares. */
export interface EngineWorld {
  readonly root: string;
  /** The engine as one more driver has it. */
  open(): Engine;
  /** Milliseconds that a job may take to begin and to be seen ended, on a busy machine. */
  readonly patience_ms: number;
  /** Bytes of the large log. */
  readonly log_bytes: number;
  /** Jobs of the long queue that really run. */
  readonly queue_runs: number;
  /** All of them. */
  readonly queued: number;
}

const ONE: Slots = { cpu: 1, gpu: 0, memory_gb: null };

let made = 0;

/** An attempt that runs a line of shell. */
export function attemptOf(
  { root }: Pick<EngineWorld, "root">,
  line: string,
  more: Partial<Attempt> = {},
): Attempt {
  const id = more.id ?? `case-${Deno.pid}-${++made}`;
  const attempt = more.attempt ?? 1;
  const folder = join(root, `${id}-${attempt}`);
  const argv = ["sh", "-c", line];
  return { id, attempt, argv, folder, env: {}, slots: ONE, seconds: null, ...more };
}

async function until<T>(what: string, ms: number, look: () => Promise<T | null>): Promise<T> {
  for (const end = Date.now() + ms; Date.now() < end; await delay(50)) {
    const found = await look();
    if (found !== null) return found;
  }
  throw new Error(`It did not come to pass within ${ms} ms: ${what}`);
}

/** How a test drives an engine. */
export function driving(world: EngineWorld, engine = world.open()) {
  const stateOf = async (handle: Handle) => (await engine.states([handle])).get(handle)!;
  const when = (handle: Handle, ...wanted: EngineState["state"][]) =>
    until(`${handle} is ${wanted}`, world.patience_ms, async () => {
      const state = await stateOf(handle);
      return wanted.includes(state.state) ? state : null;
    });
  const said = (handle: Handle, word: string) =>
    until(`${handle} says ${word}`, world.patience_ms, () => {
      const path = attemptPaths(handle).log;
      const log = existsSync(path) ? readFileSync(path, "utf8") : "";
      return Promise.resolve(log.includes(word) ? log : null);
    });
  const gone = (pid: number) =>
    until(
      `process ${pid} is gone`,
      world.patience_ms,
      () => Promise.resolve(isAlive({ pid, start: "" }) ? null : true),
    );
  const end = async (handle: Handle) => {
    await when(handle, "ended");
    return readResult(handle);
  };
  return { engine, stateOf, when, said, gone, end };
}

type Case = (world: EngineWorld) => Promise<void>;

/** Lines that programs wrote, each a start. */
function linesOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}

/** That ends in good order when it is asked to, in its own time. */
const HEEDS = `trap 'echo saved; exit 3' INT; echo ready; while :; do sleep 0.1; done`;
const STUBBORN = `trap '' INT TERM; echo ready; while :; do sleep 0.1; done`;

const CASES = {
  "submitted twice it runs once, by one driver and by two at one moment": async (world) => {
    const one = driving(world);
    const other = driving(world);
    const runs = join(world.root, `runs-${++made}`);
    const attempt = attemptOf(world, `echo began >> ${runs}; sleep 1`);
    const handles = await Promise.all([
      one.engine.submit(attempt),
      other.engine.submit(attempt),
      one.engine.submit(attempt),
    ]);
    assert.deepEqual([...new Set(handles)], [attempt.folder]);
    await one.end(handles[0]!);
    await other.engine.submit(attempt);
    assert.equal((await other.when(handles[0]!, "ended")).state, "ended");
    await delay(1000); // a second start would have begun
    assert.deepEqual(linesOf(runs), ["began"]);
  },

  "an answer that was lost is found": async (world) => {
    const { engine, end } = driving(world);
    const attempt = attemptOf(world, "sleep 2");
    void await engine.submit(attempt);
    const { engine: other, when } = driving(world);
    await when(attempt.folder, "running", "ended", "queued");
    await until(
      "it is found",
      world.patience_ms,
      async () =>
        (await engine.find(attempt.id, attempt.attempt)).includes(attempt.folder) ? true : null,
    );
    assert.deepEqual(await other.find(`${attempt.id}0`, attempt.attempt), [], "another id");
    assert.deepEqual(await other.find(attempt.id, attempt.attempt + 1), [], "another attempt");
    await end(attempt.folder);
  },

  "it ends with its program's exit code or signal": async (world) => {
    const { engine, when } = driving(world);
    const lines = { "exit 0": 0, "echo last words; exit 7": 7, "kill -9 $$": 9 };
    const handles = await Promise.all(
      Object.keys(lines).map((line) => engine.submit(attemptOf(world, line))),
    );
    for (const [n, code] of Object.values(lines).entries()) {
      const state = await when(handles[n]!, "ended");
      assert.deepEqual(
        { ...state, reason: undefined },
        { state: "ended", how: n === 2 ? "signal" : "exit", code, reason: undefined },
      );
      const result = readResult(handles[n]!)!;
      assert.deepEqual([result.how, result.token], ["done", readLease(handles[n]!)!.token]);
    }
    const missing = await engine.submit(attemptOf(world, "", { argv: ["/no/such/program"] }));
    const state = await when(missing, "ended");
    assert.ok(state.state === "ended" && state.how === "lost", JSON.stringify(state));
    assert.match(state.reason!, /no such program|\/no\/such\/program/);
    const seen = [...handles, missing].map((one) => seenAttempt(one, watchLeases()).result!);
    assert.deepEqual(seen.map(({ how, code }) => [how, code]), [
      ["done", 0],
      ["failed", 7],
      ["failed", null],
      ["failed", null],
    ]);
    assert.match(seen[1]!.reason, /^exit code 7: last words$/);
  },

  "a large log is read in pieces from any offset": async (world) => {
    const { engine, end } = driving(world);
    const bytes = world.log_bytes;
    const line = `head -c ${bytes} /dev/zero | tr '\\0' x; echo; echo end`;
    const handle = await engine.submit(attemptOf(world, line));
    await end(handle);
    let [from, pieces] = [0, 0];
    for (let more = true; more; pieces++) {
      const piece = await engine.logs(handle, from);
      assert.equal(piece.next, from + piece.bytes.length);
      assert.ok(piece.bytes.length <= 1 << 20);
      if (piece.next < bytes) assert.ok(piece.bytes.every((byte) => byte === 120));
      [from, more] = [piece.next, piece.more];
    }
    assert.ok(from >= bytes + 5 && from < bytes + 10_000, `${from} bytes`);
    assert.ok(pieces >= bytes / (1 << 20));
    const tail = await engine.logs(handle, bytes);
    assert.match(new TextDecoder().decode(tail.bytes), /^\nend\n/);
    assert.equal((await engine.logs(handle, from)).bytes.length, 0);
  },

  "asked to save it ends in good order, and its result says so": async (world) => {
    const { engine, said, end, stateOf } = driving(world);
    const handle = await engine.submit(attemptOf(world, HEEDS));
    await said(handle, "ready");
    await engine.save(handle);
    await engine.save(handle);
    const result = await end(handle);
    assert.deepEqual([result?.how, result?.code, result?.signal], ["saved", 3, null]);
    assert.deepEqual(await stateOf(handle), { state: "ended", how: "exit", code: 3 });
    assert.match(readFileSync(attemptPaths(handle).log, "utf8"), /^ready\nsaved\n$/, "once");
  },

  "cancelled while it runs, while it ends, after its end, and where nobody knows it": async (
    world,
  ) => {
    const { engine, said, end, stateOf } = driving(world);
    const running = await engine.submit(attemptOf(world, HEEDS));
    await said(running, "ready");
    await engine.cancel(running);
    await engine.cancel(running);
    await end(running);
    assert.equal((await stateOf(running) as { how?: string }).how, "cancelled");
    const slow = `trap 'sleep 2; exit 4' INT; echo ready; while :; do sleep 0.1; done`;
    const ending = await engine.submit(attemptOf(world, slow));
    await said(ending, "ready");
    await engine.save(ending);
    await delay(700); // the wrapper has told it
    await engine.cancel(ending);
    await end(ending);
    assert.equal((await stateOf(ending) as { how?: string }).how, "cancelled");
    const ended = await engine.submit(attemptOf(world, "exit 0"));
    await end(ended);
    await engine.cancel(ended);
    assert.deepEqual(await stateOf(ended), { state: "ended", how: "exit", code: 0 });
    const nobody = join(world.root, "nobody-1");
    assert.equal((await stateOf(nobody)).state, "unknown");
    await engine.cancel(nobody).catch(() => {}); // whatever it says, it breaks nothing
    assert.ok(["unknown", "ended"].includes((await stateOf(nobody)).state));
  },

  "cancelled before it began it never begins": async (world) => {
    const { engine, end, when, stateOf } = driving(world);
    const { total } = await engine.capacity();
    const all = { cpu: total.cpu, gpu: 0, memory_gb: null };
    const first = await engine.submit(attemptOf(world, HEEDS, { slots: all }));
    await when(first, "running");
    const runs = join(world.root, `runs-${++made}`);
    const waits = attemptOf(world, `echo began >> ${runs}`);
    const second = await engine.submit(waits);
    const state = await when(second, "queued");
    assert.ok(state.state === "queued");
    await engine.cancel(second);
    await until("it has ended", world.patience_ms, async () => {
      const now = await stateOf(second);
      return now.state === "ended" && now.how === "cancelled" ? true : null;
    });
    await engine.submit(waits); // whoever repeats a submission does not bring it back
    await engine.cancel(first);
    await end(first);
    await delay(1000);
    assert.deepEqual(linesOf(runs), []);
    assert.equal(readAsked(second), "cancel");
  },

  "nothing that it started outlives it, whichever session that made itself": async (world) => {
    const { engine, said, end, gone } = driving(world);
    const leaves = "setsid sh -c 'echo pid $$; exec sleep 300' & sleep 0.5;";
    const pidOf = (log: string) => Number(/pid (\d+)/.exec(log)![1]);
    const cancelled = await engine.submit(attemptOf(world, `${leaves} echo ready; exec sleep 300`));
    const pid = pidOf(await said(cancelled, "ready"));
    await engine.cancel(cancelled);
    await end(cancelled);
    await gone(pid);
    const done = await engine.submit(attemptOf(world, `${leaves} echo ready`));
    await end(done);
    assert.ok(!isAlive({ pid: pidOf(await said(done, "ready")), start: "" }), "gone with its end");
  },

  "one that heeds nothing is killed after the grace": async (world) => {
    const { engine, said, end } = driving(world);
    const handle = await engine.submit(attemptOf(world, STUBBORN));
    await said(handle, "ready");
    await engine.cancel(handle);
    const result = await end(handle);
    if (result !== null) assert.equal(result.how, "cancelled"); // an engine may be quicker than the grace
  },

  "one that takes too long is asked to end, and the result says so": async (world) => {
    const { engine, end } = driving(world);
    const handle = await engine.submit(attemptOf(world, HEEDS, { seconds: 1 }));
    const result = await end(handle);
    assert.deepEqual([result?.how, result?.code], ["timeout", 3]);
    assert.ok(result!.seconds < 20, `${result!.seconds} s`);
  },

  "a wrapper that is killed leaves no result and nothing that runs; the next attempt runs": async (
    world,
  ) => {
    const { engine, said, when, gone, end } = driving(world);
    const leases = watchLeases();
    const runs = join(world.root, `runs-${++made}`);
    const line = `echo began >> ${runs}; echo pid $$; exec sleep 300`;
    const attempt = attemptOf(world, line);
    assert.equal(leases(attempt.folder), "none");
    const handle = await engine.submit(attempt);
    const pid = Number(/pid (\d+)/.exec(await said(handle, "pid "))![1]);
    assert.equal(leases(handle), "fresh");
    Deno.kill(readLease(handle)!.pid, "SIGKILL");
    const state = await when(handle, "ended");
    assert.ok(state.state === "ended" && ["lost", "exit", "signal"].includes(state.how));
    await gone(pid);
    assert.deepEqual([readResult(handle), leases(handle)], [null, "stale"]);
    assert.equal(closeAttempt(handle), false, "somebody has begun it");
    await engine.submit(attempt);
    await delay(1000);
    assert.deepEqual(linesOf(runs), ["began"], "an attempt is started once");
    const { id } = attempt;
    const next = await engine.submit(attemptOf(world, "exit 0", { id, attempt: 2 }));
    assert.equal((await end(next))?.attempt, 2);
  },

  "no variable of its environment lands in its files": async (world) => {
    const { engine, end } = driving(world);
    const env = { SOME_TOKEN: "do-not-keep-me" };
    const handle = await engine.submit(attemptOf(world, "test ${#SOME_TOKEN} = 14", { env }));
    assert.equal((await end(handle))?.code, 0);
    for (const name of readdirSync(handle)) {
      assert.doesNotMatch(readFileSync(join(handle, name), "utf8"), /do-not-keep-me/, name);
    }
  },

  "an attempt that was closed before it began never begins": async (world) => {
    const { engine, stateOf } = driving(world);
    const runs = join(world.root, `runs-${++made}`);
    const attempt = attemptOf(world, `echo began >> ${runs}`);
    assert.ok(closeAttempt(attempt.folder) && closeAttempt(attempt.folder));
    await engine.submit(attempt);
    await delay(500);
    assert.deepEqual(await stateOf(attempt.folder), {
      ...{ state: "ended", how: "cancelled", code: null },
    });
    const seen = seenAttempt(attempt.folder, watchLeases());
    assert.deepEqual([seen, linesOf(runs)], [
      { result: null, lease: "closed", progress: null },
      [],
    ]);
  },

  "more than any machine has is refused before it is submitted": async (world) => {
    const { engine, stateOf } = driving(world);
    const slots = { cpu: 1, gpu: 100, memory_gb: null };
    const attempt = attemptOf(world, "exit 0", { slots });
    await assert.rejects(engine.submit(attempt), { name: "EngineError", kind: "refused" });
    assert.equal((await stateOf(attempt.folder)).state, "unknown");
    await assert.rejects(engine.submit(attemptOf(world, "exit 0", { id: "a/b" })), /letters/);
  },

  "a long line waits and never more run than it has slots": async (world) => {
    const { engine, when, end } = driving(world);
    const { total } = await engine.capacity();
    const half = { cpu: Math.max(1, Math.floor(total.cpu / 2)), gpu: 0, memory_gb: null };
    const at_once = Math.floor(total.cpu / half.cpu);
    const moments = join(world.root, `moments-${++made}`);
    mkdirSync(moments);
    const line = `touch ${moments}/$$; ls ${moments} | wc -l; sleep 0.3; rm ${moments}/$$`;
    const runs: Handle[] = [];
    for (let n = 0; n < world.queue_runs; n++) {
      runs.push(await engine.submit(attemptOf(world, line, { slots: half })));
    }
    const waits: Handle[] = [];
    for (let n = world.queue_runs; n < world.queued; n++) {
      waits.push(await engine.submit(attemptOf(world, line, { slots: half })));
    }
    assert.equal((await engine.states([...runs, ...waits])).size, world.queued);
    await Promise.all(waits.reverse().map((one) => engine.cancel(one)));
    for (const one of runs) await end(one);
    for (const one of waits) await when(one, "ended");
    const seen = runs.map((one) => Number(readFileSync(attemptPaths(one).log, "utf8").trim()));
    assert.ok(Math.max(...seen) <= at_once, `${Math.max(...seen)} ran at once on ${at_once} slots`);
  },
} satisfies Readonly<Record<string, Case>>;

/** What must hold of all: that a job runs once, ends as it did, and leaves nothing; some of the cases. */
const FIRST: readonly (keyof typeof CASES)[] = [
  "submitted twice it runs once, by one driver and by two at one moment",
  "it ends with its program's exit code or signal",
  "asked to save it ends in good order, and its result says so",
  "cancelled before it began it never begins",
  "nothing that it started outlives it, whichever session that made itself",
  "a wrapper that is killed leaves no result and nothing that runs; the next attempt runs",
  "more than any machine has is refused before it is submitted",
];

/** Runs them over an engine: all, or a part where it is slow; `ignored` says for each why it does not. */
export function engineCases(
  name: string,
  world: () => EngineWorld,
  ignored: () => boolean = () => false,
  part: "all" | "first" | "others" = "all",
): void {
  for (const [said, run] of Object.entries<Case>(CASES)) {
    const first = (FIRST as readonly string[]).includes(said);
    if (part !== "all" && first !== (part === "first")) continue;
    Deno.test({
      name: `${name}: ${said}`,
      ignore: ignored(),
      // Wrappers go on without whoever submitted them.
      ...{ sanitizeOps: false, sanitizeResources: false },
      fn: () => run(world()),
    });
  }
}
