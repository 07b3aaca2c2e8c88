/** A wrapper that is killed between its start and its lease: nobody has begun, and the next start is whole. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Attempt } from "../../../core/jobs/engine.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import type { Devices } from "../../../tracker/jobs/engines/local/devices.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { familyProgram, until } from "./family.ts";

/** What runs for a folder, as its command line says. */
function wrapperOf(folder: string): number | null {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").includes(folder)) {
        return Number(name);
      }
    } catch {
      // it ended meanwhile
    }
  }
  return null;
}

/** Stopped as soon as it is there, and killed so; false: it was faster, and has its lease. */
async function killedInTime(folder: string): Promise<boolean> {
  const pid = await until("the wrapper starts", () => wrapperOf(folder));
  Deno.kill(pid, "SIGSTOP");
  const before = readLease(folder) === null;
  Deno.kill(pid, before ? "SIGKILL" : "SIGCONT");
  return before;
}

/** Whether the wrapper was hit in time. `gone`: who submitted it knows no more of it than others do. */
export async function killBeforeLease(
  root: string,
  devices: Devices,
  gone: boolean,
): Promise<boolean> {
  using program = await familyProgram(
    join(root, "work"),
    `${Deno.pid}-before-lease`,
    "of its group",
  );
  const folder = join(root, "attempt");
  const attempt: Attempt = {
    ...{ id: "point", attempt: 1, argv: program.argv, folder, env: {} },
    ...{ slots: devices.slots, seconds: null },
  };
  const books = join(root, "books");
  using engine = new LocalEngine(books, devices);
  const submitted = engine.submit(attempt);
  const hit = await killedInTime(folder);
  await submitted;
  using next = gone ? new LocalEngine(books, devices) : engine;
  const stateOf = async () => (await next.states([folder])).get(folder)!;
  if (hit) {
    await until("nobody has it", async () => (await stateOf()).state === "unknown");
    assert.equal(program.began, 0);
    assert.deepEqual((await next.capacity()).free, devices.slots, "its slots are held by nobody");
    await next.submit(attempt); // as a queue does with what nobody has
  }
  await program.leader();
  program.open("start");
  await program.up();
  program.open("done");
  const end = await until("it ends", async () => {
    const state = await stateOf();
    return state.state === "ended" ? state : null;
  });
  assert.equal(end.how, "exit");
  assert.equal(program.began, 1, "how often it began");
  assert.deepEqual((await next.capacity()).free, devices.slots, "its slots are free again");
  return hit;
}
