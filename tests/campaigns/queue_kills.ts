/**
 * kill -9 of who drives a queue, of wrappers and of programs, at random moments: nothing that was
 * acknowledged is lost, and no job comes to its end twice.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Job } from "../../core/mod.ts";
import { isAlive } from "../../python-backends/process_owner.ts";
import { remains } from "../../tracker/jobs/attempt/remains.ts";
import { readLease } from "../../tracker/jobs/attempt/lease.ts";
import { QueueDisk } from "../../tracker/store/queue/queue_disk.ts";
import { attemptFolder, queuePaths } from "../../tracker/store/queue/queue_paths.ts";
import { submitStudy } from "../../tracker/jobs/queue/submit.ts";
import { denoWords, startProgram } from "../fixtures/programs.ts";
import { temporaryFolder } from "../temporary_folder.ts";

const JOBS = 24;
const KILLS = 36;

/** Works for a moment, then appends its job's name to a file: its end. */
const PROGRAM = `
  const [folder] = Deno.args;
  await new Promise((resolve) => setTimeout(resolve, 4000 * Math.random()));
  const name = folder.split("/").at(-2);
  Deno.writeTextFileSync(folder + "/../../../ends", name + "\\n", { append: true });`;

/** Drives the queue of a store until it is idle; a job that was lost is not waited a minute for. */
const DRIVER = (program: string) => `
  import { driveQueue } from ${
  JSON.stringify(import.meta.resolve("../../tracker/jobs/queue/drive_queue.ts"))
};
  import { queuePaths } from ${
  JSON.stringify(import.meta.resolve("../../tracker/store/queue/queue_paths.ts"))
};
  import { LocalEngine } from ${
  JSON.stringify(import.meta.resolve("../../tracker/jobs/engines/local/local_engine.ts"))
};
  const paths = queuePaths(Deno.args[0]);
  const real = Date.now;
  Date.now = () => real() + Number(Deno.args[1]);
  const slots = { cpu: 3, gpu: 0, memory_gb: null };
  const engine = new LocalEngine(paths.books, { slots, cards: [], machine: "test" });
  await engine.check(paths.books); // as \`queue work\` does: a wrapper waits
  await driveQueue({
    paths,
    engines: [engine],
    programOf: (folder) => [Deno.execPath(), "run", "-A", "--no-check", ${
  JSON.stringify(program)
}, folder],
    signal: new AbortController().signal,
    until_idle: true,
  });`;

function kill(pid: number | undefined): void {
  if (pid === undefined || !isAlive({ pid, start: "" })) return;
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // it has just ended
  }
}

Deno.test(`${JOBS} jobs under ${KILLS} kills are each done once`, async () => {
  const store = temporaryFolder("queue-kills");
  const paths = queuePaths(store);
  const disk = new QueueDisk(paths.journal);
  const [program, driver] = [join(store, "program.ts"), join(store, "driver.ts")];
  await Deno.writeTextFile(program, PROGRAM);
  await Deno.writeTextFile(driver, DRIVER(program));
  for (let n = 0; n < JOBS; n++) {
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1, seed: n };
    const slots = { cpu: 1, gpu: 0, memory_gb: null };
    await submitStudy(disk, paths, document, { slots, submission_id: `job-${n}` });
  }
  const under = (): Job[] => [...disk.current().under_way.values()];
  let killed = { drivers: 0, wrappers: 0, programs: 0 };
  for (let n = 0, later = 0; n < KILLS; n++, later += 20 * 60_000) {
    // Each driver's clock is some minutes later: what was lost is tried again at once.
    const driving = startProgram(denoWords(driver, store, String(later)));
    await delay(700 + 1800 * Math.random());
    const job = under().findLast(({ job_id, attempts }) =>
      readLease(attemptFolder(paths, job_id, attempts.at(-1)!.number)) !== null
    );
    const folder = job === undefined
      ? null
      : attemptFolder(paths, job.job_id, job.attempts.at(-1)!.number);
    const lease = folder === null ? null : readLease(folder);
    if (n % 3 === 1 && lease !== null) {
      kill(lease.pid);
      killed = { ...killed, wrappers: killed.wrappers + 1 };
    } else if (n % 3 === 2 && lease !== null) {
      kill(remains(lease.token)[0]);
      killed = { ...killed, programs: killed.programs + 1 };
    } else killed = { ...killed, drivers: killed.drivers + 1 };
    kill(driving.pid);
    await driving.exited;
  }
  const last = startProgram(denoWords(driver, store, String((KILLS + 20) * 20 * 60_000)));
  const { code } = await last.exited;
  assert.equal(code, 0);
  assert.ok(Math.min(...Object.values(killed)) > 3, JSON.stringify(killed));
  const { jobs } = disk.current();
  assert.equal(jobs.size, JOBS);
  const ends = (await Deno.readTextFile(join(paths.root, "ends"))).trim().split("\n");
  const twice = ends.filter((name, at) => ends.indexOf(name) !== at);
  const states = new Map([...jobs.values()].map(({ job_id, state, attempts }) =>
    [
      ...[job_id, { state, tries: attempts.length, hows: attempts.map(({ how }) => how).join() }],
    ] as const
  ));
  // A program may be killed between its last act and its result: it is then done again, as a study is.
  const lost = [...states].filter(([, { state }]) => state !== "done");
  assert.deepEqual(
    lost.filter(([, { tries }]) => tries < 4),
    [],
    "only what failed four times may fail",
  );
  for (const name of twice) {
    const { tries } = states.get(name)!;
    assert.ok(tries > 1, `${name} came to its end twice in one attempt`);
  }
  for (const [name, { state }] of states) {
    if (state === "done") assert.ok(ends.includes(name), `${name} is done and never ended`);
  }
});
