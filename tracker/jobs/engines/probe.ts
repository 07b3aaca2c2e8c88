import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Engine, EngineError } from "../../../core/jobs/engine.ts";
import { attemptPaths, readResult } from "../attempt/attempt_folder.ts";
import { readLease } from "../attempt/lease.ts";
import { logTail } from "../../../python-backends/child/log_tail.ts";

/** Milliseconds that a probe may wait for a slot: in a full cluster it would wait for hours. */
const WAIT_MS = 30_000;

/** Milliseconds that two clocks may be apart: what is written by both could not be ordered. */
const CLOCK_MS = 300_000;

/** Why a job of one word did not run there, of what the engine or the shell of its machine said. */
function whyNot(name: string, folder: string, code: number | null, said: string): string {
  if (code === 76 || /could not write its log|no attempt\.json/.test(said)) {
    return `Cannot run jobs on ${name} as its machines do not see ${folder}: keep the store in a folder ` +
      "that they share";
  }
  if (code === 127 || /No such file|not found/i.test(said)) {
    return `Cannot run jobs on ${name} as Deno or pare is not where it is here (${said}): name its Deno ` +
      "by `deno`, and keep pare in a folder that its machines share";
  }
  return `Cannot run jobs on ${name} as a first small one failed: ${said}`;
}

/**
 * Runs a job of one word: only so it is seen that an engine's machines share a folder, hold what runs
 * jobs, and have the right time. Gives what could not be seen, where it did not begin in time: a job
 * looks for its folder by itself, too.
 */
export async function probe(
  engine: Engine,
  folder: string,
  wait_ms = WAIT_MS,
): Promise<string | null> {
  const id = `probe-${crypto.randomUUID().slice(0, 8)}`;
  const own = join(folder, id);
  mkdirSync(folder, { recursive: true });
  const began = Date.now();
  await engine.submit({
    ...{ id, attempt: 1, argv: ["true"], folder: own, env: {}, seconds: 60 },
    slots: { cpu: 1, gpu: 0, memory_gb: null },
  });
  for (let pause = 100; Date.now() < began + wait_ms; pause = Math.min(2 * pause, 2000)) {
    const state = (await engine.states([own])).get(own);
    const lease = readLease(own);
    if (readResult(own) !== null && lease !== null) {
      const there = Date.parse(lease.since);
      if (!clocksAgree(began, there)) throw clockRefusal(engine.name, began, there);
      rmSync(own, { recursive: true });
      return null;
    }
    if (state?.state === "ended") {
      const said = state.reason ?? (logTail(attemptPaths(own).log, 2) || `exit code ${state.code}`);
      rmSync(own, { recursive: true, force: true });
      throw new EngineError("refused", whyNot(engine.name, folder, state.code, said));
    }
    await delay(pause);
  }
  await engine.cancel(own);
  return `${engine.name} had no room for a first small job within ${
    wait_ms / 1000
  } s: whether its machines see ` + `${folder} is seen once a job begins`;
}

/** Whether a clock that was read since `began` is near this machine's. */
export function clocksAgree(began: number, there: number): boolean {
  return there > began - CLOCK_MS && there < Date.now() + CLOCK_MS;
}

export function clockRefusal(name: string, began: number, there: number): EngineError {
  const minutes = Math.round((there - began) / 60_000);
  const apart = `${Math.abs(minutes)} minutes ${minutes < 0 ? "behind" : "ahead of"}`;
  return new EngineError(
    "refused",
    `Cannot run jobs on ${name} as its clock is ${apart} this machine's: set both by a time server`,
  );
}
