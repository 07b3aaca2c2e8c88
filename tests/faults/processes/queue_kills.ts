/**
 * kill -9 of who drives a queue, of wrappers and of programs, at drawn moments, on an engine: nothing that was
 * acknowledged is lost, and no job comes to its end twice.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Job } from "../../../core/mod.ts";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { remains } from "../../../tracker/jobs/attempt/remains.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { attemptFolder, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { submitStudy } from "../../../tracker/jobs/queue/submit.ts";
import { denoWords, startProgram } from "../../fixtures/programs.ts";
import { sometimes } from "../loop.ts";

/** How a queue is driven on an engine. */
export interface Under {
  readonly engine: string;
  /** Between two kills at least, in milliseconds: as long as a job takes to begin. */
  readonly calm_ms: number;
  /** Of what drives it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Works for a moment, then appends its job's name to a file: its end. */
const PROGRAM = (most_ms: number) => `
  const [folder] = Deno.args;
  await new Promise((resolve) => setTimeout(resolve, ${most_ms} * Math.random()));
  const name = folder.split("/").at(-2);
  Deno.writeTextFileSync(folder + "/../../../ends", name + "\\n", { append: true });`;

const here = (path: string) => JSON.stringify(import.meta.resolve(path));

/** Drives the queue of a store until it is idle; a job that was lost is not waited a minute for. */
const DRIVER = (program: string) => `
  import { driveQueue } from ${here("../../../tracker/jobs/queue/drive_queue.ts")};
  import { queuePaths } from ${here("../../../tracker/store/queue/queue_paths.ts")};
  import { openEngine } from ${here("../../../tracker/jobs/engines/open_engine.ts")};
  const [store, later, called] = Deno.args;
  const paths = queuePaths(store);
  const real = Date.now;
  Date.now = () => real() + Number(later);
  const engine = await openEngine(called, { file: store + "/engines.yaml", books: paths.books });
  // As \`queue work\` does: a wrapper waits. On a cluster it is a job, which finds this clock wrong.
  if (called === "local") await engine.check?.(paths.books);
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

/** Two jobs for three kills, each of which is done at the end, and once. */
export async function eachDoneOnce(
  store: string,
  { engine, calm_ms, env }: Under,
  { kills, random }: { kills: number; random: () => number },
): Promise<void> {
  const count = Math.ceil(kills * 2 / 3);
  const paths = queuePaths(store);
  const disk = new QueueDisk(paths.journal);
  const [program, driver] = [join(store, "program.ts"), join(store, "driver.ts")];
  await Deno.writeTextFile(program, PROGRAM(3 * (calm_ms + 700)));
  await Deno.writeTextFile(driver, DRIVER(program));
  for (let n = 0; n < count; n++) {
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1, seed: n };
    const slots = { cpu: 1, gpu: 0, memory_gb: null };
    await submitStudy(disk, paths, document, { slots, submission_id: `job-${n}` });
  }
  const under = (): Job[] => [...disk.current().under_way.values()];
  const drive = (later: number) =>
    startProgram(denoWords(driver, store, String(later), engine), { env });
  for (let n = 0, later = 0; n < kills; n++, later += 20 * 60_000) {
    // Each driver's clock is some minutes later: what was lost is tried again at once.
    const driving = drive(later);
    await delay(calm_ms + 1800 * random());
    const job = under().findLast(({ job_id, attempts }) =>
      readLease(attemptFolder(paths, job_id, attempts.at(-1)!.number)) !== null
    );
    const folder = job === undefined
      ? null
      : attemptFolder(paths, job.job_id, job.attempts.at(-1)!.number);
    const lease = folder === null ? null : readLease(folder);
    if (n % 3 === 1 && lease !== null) {
      kill(lease.pid);
      sometimes("queue: a wrapper is killed");
    } else if (n % 3 === 2 && lease !== null) {
      kill(remains(lease.token)[0]);
      sometimes("queue: a program is killed");
    } else sometimes("queue: its driver alone is killed");
    kill(driving.pid);
    await driving.exited;
  }
  // One more sees what the last kills left: a job that was lost for the third time waits for 16 minutes.
  const looking = drive((kills + 10) * 20 * 60_000);
  await delay(2 * calm_ms + 1800);
  kill(looking.pid);
  await looking.exited;
  const last = drive((kills + 20) * 20 * 60_000);
  const { code } = await last.exited;
  assert.equal(code, 0, last.last_words);
  const { jobs } = disk.current();
  assert.equal(jobs.size, count);
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
}
