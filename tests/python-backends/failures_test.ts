import assert from "node:assert/strict";
import type { WorkerEvent } from "../../core/mod.ts";
import { nameDeath } from "../../python-backends/worker/exchange.ts";
import { isAlive, runScripted, startScripted, until } from "./scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";
import { exchange } from "../../python-backends/worker/exchange.ts";
import { spawnWorker } from "../../python-backends/worker/worker_process.ts";
import { join } from "node:path";

async function failureOf(body: string, options: Parameters<typeof runScripted>[1] = {}) {
  const outcome = await runScripted(body, options);
  assert(!outcome.ok, "the call was to fail");
  return outcome.failure;
}

Deno.test("a call's own failure keeps its kind, message and hint", async () => {
  const failure = await failureOf(`raise CallFailure("verification", "layer 3 differs", "redo")`);
  assert.deepEqual(failure, {
    kind: "verification",
    message: "layer 3 differs",
    hint: "redo",
    phase: "describe",
  });
});

Deno.test("an exception is a crash that names type, text and place", async () => {
  const failure = await failureOf(`{}["missing"]`);
  assert.equal(failure.kind, "crash");
  assert.match(failure.message, /Cannot describe: KeyError: 'missing'/);
  assert.match(failure.hint ?? "", /line \d+.*worker\.log/);
});

Deno.test("a segmentation fault is a crash that names the signal", async () => {
  const failure = await failureOf(`import ctypes\nctypes.string_at(0)`);
  assert.equal(failure.kind, "crash");
  assert.match(failure.message, /SIGSEGV/);
  assert.match(failure.message, /string_at|Segmentation fault/, "the log's last words are told");
});

Deno.test("an exit without a result is a crash that names the code", async () => {
  const failure = await failureOf(`os._exit(7)`);
  assert.equal(failure.kind, "crash");
  assert.match(failure.message, /exit code 7/);
});

Deno.test("memory refused by the kernel is out_of_memory", async () => {
  const failure = await failureOf(
    `import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\nbytearray(1 << 32)`,
  );
  assert.equal(failure.kind, "out_of_memory");
});

Deno.test("a process that memory's end killed is out_of_memory, another's SIGKILL a crash", async () => {
  const failure = await failureOf(`os.kill(os.getpid(), signal.SIGKILL)`);
  assert.equal(failure.kind, "crash");
  assert.match(failure.message, /SIGKILL/);
  const kind = (oom_killed: boolean, lowest_available_bytes: number) =>
    nameDeath({ code: null, signal: "SIGKILL" }, "apply", "/no/log", {
      oom_killed,
      lowest_available_bytes,
    }).kind;
  assert.equal(kind(true, 8e9), "out_of_memory");
  assert.equal(kind(false, 1e8), "out_of_memory");
  assert.equal(kind(false, 8e9), "crash");
});

Deno.test("a worker whose Python is gone could not be started, which is said with what to do", async () => {
  const worker = spawnWorker({
    ...{ python: "/nowhere/bin/python", args: [], cwd: "/", env: {} },
    log_path: join(temporaryFolder("no-python"), "worker.log"),
  });
  const exit = await worker.exited;
  const memory = { oom_killed: false, lowest_available_bytes: 8e9 };
  const { message, hint } = nameDeath(exit, "apply", worker.log_path, memory);
  assert.match(message, /^Cannot apply as its worker could not be started: .*nowhere.*ENOENT/);
  assert.match(hint!, /pare setup/);
});

Deno.test("a library that aborts for memory is out_of_memory by its last words", async () => {
  const failure = await failureOf(
    `sys.stderr.write("terminate called after throwing 'std::bad_alloc'\\n")\nos.abort()`,
  );
  assert.equal(failure.kind, "out_of_memory");
  assert.match(failure.message, /SIGABRT/);
});

Deno.test("a full disk is disk_full", async () => {
  const failure = await failureOf(
    `with open("/dev/full", "w") as file:\n    file.write("x" * 100000)`,
  );
  assert.equal(failure.kind, "disk_full");
});

Deno.test("a line that is no event is a crash that shows the line", async () => {
  const failure = await failureOf(
    `report.emit({"event": "progres", "label": "x"})\ntime.sleep(60)`,
  );
  assert.equal(failure.kind, "crash");
  assert.match(failure.message, /progres/);
});

Deno.test("what a library prints reaches the log, never the wire", async () => {
  const failure = await failureOf(
    `print("{not an event", flush=True)\nos.system("echo from a child")\nos._exit(3)`,
  );
  assert.match(failure.message, /exit code 3/);
  assert.match(failure.message, /not an event/);
  assert.match(failure.message, /from a child/);
});

Deno.test("a bar of progress is no last word", async () => {
  const bar = (percent: number) => `\\rLoading weights: ${percent}%|█████     | 10/20 [00:00<?]`;
  const failure = await failureOf(
    `sys.stderr.write("the own words\\n${bar(50)}${bar(100)}\\n")\nos._exit(3)`,
  );
  assert.match(failure.message, /no result; its last words: the own words$/);
  const bare = await failureOf(`sys.stderr.write("${bar(50)}")\nos._exit(3)`);
  assert.match(bare.message, /no result$/);
});

Deno.test("a silent worker is a stall, and its log says where it stood", async () => {
  const alerts: Extract<WorkerEvent, { event: "alert" }>[] = [];
  const worker = await startScripted(
    `def in_a_loop():\n    while True: time.sleep(0.05)\nin_a_loop()`,
  );
  const outcome = await exchange(worker, { call: "describe" }, {
    request_id: "test",
    threads: 1,
    stallMs: 700,
    sampleMs: 200,
    onEvent: (event) => event.event === "alert" && alerts.push(event),
  });
  assert(!outcome.ok);
  assert.equal(outcome.failure.kind, "stall");
  assert.match(outcome.failure.hint ?? "", /--stall-minutes/);
  assert.equal(alerts.length, 1);
  assert.equal(alerts[0]?.condition, "no_progress");
  assert.match(
    alerts[0]!.evidence,
    /^describe got no further for 0\.7 s; meanwhile \d\.\d\d CPU cores busy, .*GPU.*, \d+ MB held$/,
  );
  assert.match(Deno.readTextFileSync(worker.log_path), /in_a_loop/);
});

Deno.test("progress keeps a slow worker from being a stall", async () => {
  const body = `for step in range(12):\n    report.progress("step", step, 12, "steps")\n` +
    `    time.sleep(0.1)\nraise CallFailure("invalid", "done")`;
  const failure = await failureOf(body, { stallMs: 900 });
  assert.equal(failure.kind, "invalid", failure.message);
});

Deno.test("the same count told again and again is a stall, and an announced wait is none", async () => {
  const beat = `while True:\n    report.progress("step", 0, 9, "steps")\n    time.sleep(0.05)`;
  const failure = await failureOf(beat, { stallMs: 700 });
  assert.equal(failure.kind, "stall", failure.message);
  assert.match(failure.message, /got no further for 0\.7 s/);
  const wait = `report.waiting(1.5, "as the server asks")\ntime.sleep(1.5)\n` +
    `raise CallFailure("invalid", "done")`;
  assert.equal((await failureOf(wait, { stallMs: 700 })).kind, "invalid");
});

Deno.test("a time limit ends a worker that keeps talking", async () => {
  const body =
    `while True:\n    report.progress("step", time.time(), None, "steps")\n    time.sleep(0.05)`;
  const failure = await failureOf(body, { timeoutMs: 600 });
  assert.equal(failure.kind, "stall", failure.message);
  assert.match(failure.message, /in 0\.6 s/);
});

Deno.test("cancelling kills the grandchildren too", async () => {
  const file = join(temporaryFolder("abort"), "pid");
  const controller = new AbortController();
  const failing = failureOf(
    `child = subprocess.Popen(["sleep", "300"])\n` +
      `open(${JSON.stringify(file)} + ".part", "w").write(str(child.pid))\n` +
      `os.rename(${JSON.stringify(file)} + ".part", ${JSON.stringify(file)})\nchild.wait()`,
    { signal: controller.signal },
  );
  let pid = 0;
  await until("the grandchild runs", async () => {
    pid = Number(await Deno.readTextFile(file).catch(() => "0"));
    return pid > 0;
  });
  assert(isAlive(pid));
  controller.abort();
  assert.equal((await failing).kind, "cancelled");
  await until("the grandchild is gone", () => !isAlive(pid));
});

Deno.test("a crash takes the grandchildren along, and does not wait for them", async () => {
  const file = join(temporaryFolder("crash"), "pid");
  const failure = await failureOf(
    `child = subprocess.Popen(["sleep", "300"])\n` +
      `open(${JSON.stringify(file)}, "w").write(str(child.pid))\nos._exit(9)`,
  );
  assert.match(failure.message, /exit code 9/);
  const pid = Number(Deno.readTextFileSync(file));
  await until("the grandchild is gone", () => !isAlive(pid));
});
