/**
 * kill -9 of who drives a queue, of wrappers and of programs, at random moments, on each engine: nothing
 * that was acknowledged is lost, and no job comes to its end twice. `PARE_KILLS=300` kills as often on each.
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
import { hasRay, NO_RAY, startRay } from "../fixtures/ray_cluster.ts";
import { hasSlurm, NO_SLURM, startSlurm } from "../fixtures/slurm_cluster.ts";
import { ignoreUnless } from "../run/counts.ts";
import { temporaryFolder } from "../temporary_folder.ts";

interface Under {
  readonly engine: string;
  readonly kills: number;
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
  import { driveQueue } from ${here("../../tracker/jobs/queue/drive_queue.ts")};
  import { queuePaths } from ${here("../../tracker/store/queue/queue_paths.ts")};
  import { openEngine } from ${here("../../tracker/jobs/engines/open_engine.ts")};
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
async function eachDoneOnce({ engine, kills, calm_ms, env }: Under): Promise<void> {
  const count = Math.ceil(kills * 2 / 3);
  const store = temporaryFolder("queue-kills");
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
  let killed = { drivers: 0, wrappers: 0, programs: 0 };
  for (let n = 0, later = 0; n < kills; n++, later += 20 * 60_000) {
    // Each driver's clock is some minutes later: what was lost is tried again at once.
    const driving = drive(later);
    await delay(calm_ms + 1800 * Math.random());
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
  const last = drive((kills + 20) * 20 * 60_000);
  const { code } = await last.exited;
  assert.equal(code, 0, last.last_words);
  assert.ok(Math.min(...Object.values(killed)) > kills / 13, JSON.stringify(killed));
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

const often = (kills: number) => Number(Deno.env.get("PARE_KILLS") ?? kills);
const detached = { sanitizeOps: false, sanitizeResources: false };

Deno.test("local: jobs under kills are each done once", async () => {
  await eachDoneOnce({ engine: "local", kills: often(36), calm_ms: 700, env: {} });
});

Deno.test({
  name: "slurm: jobs under kills are each done once",
  ignore: ignoreUnless(await hasSlurm(), NO_SLURM),
  ...detached,
  async fn() {
    const cluster = await startSlurm();
    try {
      const { env } = cluster;
      await eachDoneOnce({ engine: "slurm:low", kills: often(12), calm_ms: 2500, env });
    } finally {
      cluster.end();
    }
  },
});

Deno.test({
  name: "ray: jobs under kills are each done once",
  ignore: ignoreUnless(await hasRay(), NO_RAY),
  ...detached,
  async fn() {
    const cluster = await startRay();
    try {
      const env = { RAY_AUTH_TOKEN: cluster.token };
      const engine = cluster.url.replace("http:", "ray:");
      await eachDoneOnce({ engine, kills: often(12), calm_ms: 5000, env });
    } finally {
      cluster.end();
    }
  },
});
