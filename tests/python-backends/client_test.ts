import assert from "node:assert/strict";
import process from "node:process";
import type { CallRequest } from "../../core/mod.ts";
import {
  type BackendClient,
  createBackendClient,
  workerVariables,
} from "../../python-backends/client.ts";
import { exchange } from "../../python-backends/worker/exchange.ts";
import {
  isAlive,
  runScripted,
  shareDefaultEnvironment,
  startScripted,
  until,
  withVariables,
} from "./scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

/** A real call that every environment runs, and that needs no model. */
const INSPECT = { call: "inspect_device", disk_path: "/" } as const;
/** A call that a spare serves; without a model it says so at once. */
const VERIFY = { call: "verify", artifact_dir: "/nowhere", source_dir: "/nowhere" } as const;

Deno.test("run() inspects the device for real", async () => {
  await shareDefaultEnvironment();
  const client = createBackendClient({ home: temporaryFolder("home") });
  const outcome = await client.run(INSPECT, { environment: "default" });
  await client.close();
  assert(outcome.ok, JSON.stringify(outcome));
  const { cores, memory_gb, free_memory_gb, torch_version, free_disk_gb } = outcome.value;
  assert(cores >= 1 && cores <= navigator.hardwareConcurrency);
  assert(free_memory_gb > 0 && free_memory_gb <= memory_gb);
  assert(free_disk_gb > 0);
  assert.match(torch_version, /^2\.\d+/);
});

Deno.test("a field that the call does not know is refused by name", async () => {
  const worker = await startScripted("return {}");
  const request = { call: "describe", bitz: 4 } as unknown as CallRequest;
  const outcome = await exchange(worker, request, { request_id: "test", threads: 1 });
  assert(!outcome.ok);
  assert.equal(outcome.failure.kind, "bad_input");
  assert.match(outcome.failure.message, /Unknown field "bitz"/);
});

Deno.test("an unknown environment is missing_environment, with a suggestion", async () => {
  const client = createBackendClient({ home: temporaryFolder("home") });
  const outcome = await client.run(INSPECT, { environment: "defualt" });
  assert(!outcome.ok);
  assert.equal(outcome.failure.kind, "missing_environment");
  assert.match(outcome.failure.message, /Did you mean "default"/);
});

Deno.test("an interpreter that cannot start is a failure, not a throw", async () => {
  const before = process.env.PARE_ENV_CHECKS;
  process.env.PARE_ENV_CHECKS = "/etc/hostname";
  try {
    const client = createBackendClient({ home: temporaryFolder("home") });
    const outcome = await client.run(INSPECT, { environment: "checks" });
    assert(!outcome.ok);
    assert.equal(outcome.failure.kind, "crash");
  } finally {
    if (before === undefined) delete process.env.PARE_ENV_CHECKS;
    else process.env.PARE_ENV_CHECKS = before;
  }
});

Deno.test("a request that is cancelled before it starts runs nothing", async () => {
  await shareDefaultEnvironment();
  const client = createBackendClient({ home: temporaryFolder("home") });
  const outcome = await client.run(VERIFY, {
    environment: "default",
    signal: AbortSignal.abort(),
  });
  await client.close();
  assert(!outcome.ok);
  assert.equal(outcome.failure.kind, "cancelled");
});

Deno.test("a nursery's worker answers far sooner than a fresh process, and both leave nothing", async () => {
  await shareDefaultEnvironment();
  const log: string[] = [];
  const home = temporaryFolder("home");
  const timeToStart = async (client: BackendClient) => {
    const asked = performance.now();
    let answered = Infinity;
    const outcome = await client.run(VERIFY, {
      environment: "default",
      onEvent: ({ event }) => {
        if (event === "started") answered = performance.now() - asked;
      },
    });
    assert(!outcome.ok && outcome.failure.kind === "bad_input", JSON.stringify(outcome));
    return answered;
  };
  const alone = createBackendClient({ home, nursery: false, log: (line) => log.push(line) });
  const fresh = await timeToStart(alone);
  await alone.close();
  const client = createBackendClient({ home, nursery: true, log: (line) => log.push(line) });
  assert(typeof await client.warm("default") === "number", "its imports are done");
  const forked = [await timeToStart(client), await timeToStart(client)];
  await client.close();
  console.log(`fresh ${fresh.toFixed(0)} ms, forked ${forked.map((ms) => ms.toFixed(1))} ms`);
  assert(Math.min(...forked) * 5 < fresh, `fresh ${fresh} ms, forked ${forked} ms`);
  const pids = log.flatMap((line) => line.match(/(?<=^(started|forked) worker )\d+/)?.[0] ?? [])
    .map(Number);
  assert.deepEqual(log.filter((line) => / worker \d+ for /.test(line)).length, 3);
  await until("no worker is left", () => !pids.some(isAlive));
});

Deno.test("a nursery that is killed ends its workers, and the next call gets another", async () => {
  await shareDefaultEnvironment();
  const log: string[] = [];
  const home = temporaryFolder("home");
  const client = createBackendClient({ home, nursery: true, log: (line) => log.push(line) });
  const kill = (parent: string) => {
    const pid = Number(/^PPid:\s+(\d+)/m.exec(Deno.readTextFileSync(`/proc/${parent}/status`))![1]);
    // Of a process with threads, one may hold a lock that no fork gets free again.
    threads = [...Deno.readDirSync(`/proc/${pid}/task`)].length;
    process.kill(pid, "SIGKILL");
    return pid;
  };
  let nursery = 0;
  let threads = 0;
  const run = (onStarted: () => void) =>
    client.run(VERIFY, {
      environment: "default",
      onEvent: ({ event }) => event === "ready" && onStarted(),
    });
  await run(() => {
    nursery = kill(/\d+/.exec(log.at(-1)!)![0]);
  });
  assert.equal(threads, 1);
  await until("it is gone", () => !isAlive(nursery));
  const again = await run(() => {});
  assert(!again.ok && again.failure.kind === "bad_input", JSON.stringify(again));
  await client.close();
});

Deno.test("what reads benchmarks is imported once, by the nursery, and starts no thread there", async () => {
  await shareDefaultEnvironment();
  const log: string[] = [];
  const home = temporaryFolder("home");
  const client = createBackendClient({ home, nursery: true, log: (line) => log.push(line) });
  const nurseryBeside = async (request: CallRequest) => {
    let found = { pid: 0, threads: 0, arrow: false };
    await client.run(request, {
      environment: "default",
      onEvent: ({ event }) => {
        if (event !== "ready") return;
        const worker = /\d+/.exec(log.at(-1)!)![0];
        const status = Deno.readTextFileSync(`/proc/${worker}/status`);
        const pid = Number(/^PPid:\s+(\d+)/m.exec(status)![1]);
        const threads = [...Deno.readDirSync(`/proc/${pid}/task`)].length;
        const arrow = Deno.readTextFileSync(`/proc/${pid}/maps`).includes("libarrow");
        found = { pid, threads, arrow };
      },
    });
    return found;
  };
  const find: CallRequest = { call: "find_tasks", tasks: [], trust_task_code: false };
  const first = await nurseryBeside(VERIFY);
  assert.deepEqual(first, { pid: first.pid, threads: 1, arrow: false });
  assert.deepEqual(await nurseryBeside(find), { pid: first.pid, threads: 1, arrow: true });
  assert.deepEqual(await nurseryBeside(VERIFY), { pid: first.pid, threads: 1, arrow: true });
  await client.close();
});

Deno.test("a call that is cancelled while a nursery imports ends at once", async () => {
  await shareDefaultEnvironment();
  const client = createBackendClient({ home: temporaryFolder("home"), nursery: true });
  const controller = new AbortController();
  const running = client.run(VERIFY, { environment: "default", signal: controller.signal });
  controller.abort();
  const outcome = await running;
  assert(!outcome.ok);
  assert.equal(outcome.failure.kind, "cancelled");
  await client.close();
});

Deno.test("a fresh process computes with the threads asked for", async () => {
  const seen: string[] = [];
  await runScripted(`report.alert(str(report.threads), os.environ["OMP_NUM_THREADS"])\nreturn {}`, {
    threads: 3,
    onEvent: (event) => event.event === "alert" && seen.push(event.condition, event.evidence),
  });
  assert.deepEqual(seen, ["3", "3"]);
});

Deno.test("threads sleep soon where others compute, unless the user says how they wait", async () => {
  const waits = () => Promise.resolve(workerVariables(2, {})["GOMP_SPINCOUNT"]);
  assert.ok(Number(await waits()) < 100_000, "libgomp's own 300,000 starve a busy machine");
  assert.equal(await withVariables({ OMP_WAIT_POLICY: "active" }, waits), undefined);
});
