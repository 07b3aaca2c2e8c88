import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import type { StageRequest } from "../../core/mod.ts";
import { createBackendClient } from "../../python-backends/client.ts";
import { exchange } from "../../python-backends/worker/exchange.ts";
import { withFileLock } from "../../python-backends/file_lock.ts";
import {
  isAlive,
  runScripted,
  shareDefaultEnvironment,
  startScripted,
  until,
} from "./scripted_worker.ts";
import { temporaryFolder } from "../temporary_folder.ts";

/** A real stage that every environment runs, and that needs no model. */
const INSPECT = { stage: "inspect_device", disk_path: "/" } as const;
/** A stage that a spare serves; without a model it says so at once. */
const VERIFY = { stage: "verify", artifact_dir: "/nowhere", source_dir: "/nowhere" } as const;

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

Deno.test("a field that the stage does not know is refused by name", async () => {
  const worker = await startScripted("return {}");
  const request = { stage: "describe", bitz: 4 } as unknown as StageRequest;
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

Deno.test("a warm spare answers far sooner than a fresh process", async () => {
  await shareDefaultEnvironment();
  const log: string[] = [];
  const client = createBackendClient({
    home: temporaryFolder("home"),
    spares: true, // whatever the variables of a run of all tests say
    log: (line) => log.push(line),
  });
  const timeToStart = async () => {
    const asked = performance.now();
    let answered = Infinity;
    await client.run(VERIFY, {
      environment: "default",
      onEvent: ({ event }) => {
        if (event === "started") answered = performance.now() - asked;
      },
    });
    return answered;
  };
  const fresh = await timeToStart();
  assert(typeof await client.warm("default") === "number", "the spare became ready");
  const warm = await timeToStart();
  await client.close();
  console.log(`fresh ${fresh.toFixed(0)} ms, warm ${warm.toFixed(1)} ms`);
  assert(warm * 5 < fresh, `fresh ${fresh} ms, warm ${warm} ms`);
  const pids = log.flatMap((line) => line.match(/(?<=^started worker )\d+/) ?? []).map(Number);
  assert.equal(pids.length, 3, "two requests, and the spare for the next");
  await until("no worker is left", () => !pids.some(isAlive));
});

Deno.test("with PARE_SPARES=0 no process waits for a stage that may never come", async () => {
  await shareDefaultEnvironment();
  const before = Deno.env.get("PARE_SPARES");
  const started = async (spares: string) => {
    Deno.env.set("PARE_SPARES", spares);
    const log: string[] = [];
    const client = createBackendClient({
      home: temporaryFolder("home"),
      log: (line) => log.push(line),
    });
    await client.run(VERIFY, { environment: "default" });
    await client.close();
    return log.filter((line) => line.startsWith("started worker")).length;
  };
  try {
    assert.deepEqual([await started("0"), await started("1")], [1, 2]);
  } finally {
    if (before === undefined) Deno.env.delete("PARE_SPARES");
    else Deno.env.set("PARE_SPARES", before);
  }
});

Deno.test("a fresh process computes with the threads asked for", async () => {
  const seen: string[] = [];
  await runScripted(`report.alert(str(report.threads), os.environ["OMP_NUM_THREADS"])\nreturn {}`, {
    threads: 3,
    onEvent: (event) => event.event === "alert" && seen.push(event.condition, event.evidence),
  });
  assert.deepEqual(seen, ["3", "3"]);
});

Deno.test("a timing waits while another holds the machine, and can be cancelled", async () => {
  const home = temporaryFolder("home");
  const client = createBackendClient({ home });
  const speed = {
    stage: "speed",
    runtime: "openvino",
    artifact_dir: "/nowhere",
    baseline_dir: null,
    form_dir: null,
    baseline_form_dir: null,
    prompt_tokens: 8,
    new_tokens: 4,
    repeats: 1,
    seed: 0,
    cpu_power: null,
    carbon_intensity: null,
  } as const;
  await withFileLock(join(home, "timing.lock"), {}, async () => {
    const controller = new AbortController();
    let settled = false;
    const outcome = client.run(speed, { environment: "default", signal: controller.signal })
      .finally(() => settled = true);
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(settled, false, "it waits for the lock");
    controller.abort();
    const ended = await outcome;
    assert(!ended.ok);
    assert.equal(ended.failure.kind, "cancelled");
  });
});
