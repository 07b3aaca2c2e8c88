import { join } from "node:path";
import process from "node:process";
import { exchange, type ExchangeOptions } from "../../python-backends/worker/exchange.ts";
import { workerVariables } from "../../python-backends/client.ts";
import {
  ensureEnvironment,
  overrideVariable,
} from "../../python-backends/environments/environments.ts";
import { findPython } from "../../python-backends/environments/python.ts";
import { PYTHON_ROOT } from "../../python-backends/home.ts";
import { spawnWorker, type WorkerProcess } from "../../python-backends/worker/worker_process.ts";
import { temporaryFolder } from "../temporary_folder.ts";

/** The machine's own Python: enough for everything that imports no torch. */
export async function plainPython(): Promise<string> {
  const { python } = await findPython();
  if (python === null) throw new Error("no Python 3.11 or newer on this machine");
  return python.path;
}

/** Makes every client of this test process find the default environment, whatever its home. */
export async function shareDefaultEnvironment(): Promise<void> {
  await shareEnvironments("default");
}

/** The same of several: what a study in a home of its own would make there again. */
export async function shareEnvironments(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    process.env[overrideVariable(name)] = (await ensureEnvironment(name)).python;
  }
}

/** The real worker, whose call `describe` runs `body` instead: a call that misbehaves. */
export function callProgram(body: string): string {
  const indented = body.split("\n").map((line) => `    ${line}`).join("\n");
  return `import os, signal, subprocess, sys, time
from pare_backends import worker
from pare_backends.calls import describe
from pare_backends.failures import CallFailure
def run(request: describe.Request, report):
${indented}
describe.run = run
status = worker.main(["--supervised"])
os._exit(status)
`;
}

export async function startScripted(body: string): Promise<WorkerProcess> {
  return spawnWorker({
    python: await plainPython(),
    args: ["-c", callProgram(body)],
    cwd: PYTHON_ROOT,
    env: workerVariables(1, {}),
    log_path: join(temporaryFolder("log"), "worker.log"),
  });
}

/** Runs `body` as a call in a process of its own; the outcome as the client names it. */
export async function runScripted(body: string, options: Partial<ExchangeOptions> = {}) {
  const worker = await startScripted(body);
  return await exchange(worker, { call: "describe" }, {
    request_id: "test",
    threads: 1,
    ...options,
  });
}

/** Whether a process is there and no zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}

/** Settles when `condition` holds; rejects after `limitMs`, with what was waited for. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 20_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!await condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Sets variables while `work` runs. */
export async function withVariables<T>(
  variables: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  try {
    return await work();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
