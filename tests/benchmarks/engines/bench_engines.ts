/**
 * What an engine adds to a job: milliseconds from the call of `submit` to its return, to the program's
 * own first moment and to `states` saying that it has ended, over jobs one after the other.
 *
 *     deno task bench:engines        # with SLURM and Ray where they are installed
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "../../../core/jobs/engine.ts";
import { startChild } from "../../../python-backends/child/start_child.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { SlurmEngine } from "../../../tracker/jobs/engines/slurm/slurm_engine.ts";
import { hasRay, startRay } from "../../fixtures/ray_cluster.ts";
import { hasSlurm, startSlurm } from "../../fixtures/slurm_cluster.ts";
import { temporaryFolder } from "../../temporary_folder.ts";

const JOBS = 15;
/** The program: the time at which it runs, in nanoseconds. */
const ARGV = ["date", "+%s%N"];

const root = temporaryFolder("bench-engines");

interface Took {
  readonly submitted: number;
  readonly began: number;
  readonly ended: number;
}

async function plainly(): Promise<Took> {
  const start = Date.now();
  const child = startChild({ argv: ARGV });
  let said = "";
  child.output!.on("data", (chunk: Uint8Array) => said += new TextDecoder().decode(chunk)); // a pipe
  await child.exited;
  return { submitted: 0, began: Number(said) / 1e6 - start, ended: Date.now() - start };
}

async function by(engine: Engine, n: number): Promise<Took> {
  const id = `bench-${engine.name}-${n}`;
  const slots = { cpu: 1, gpu: 0, memory_gb: null };
  const folder = join(root, id);
  const start = Date.now();
  await engine.submit({ id, attempt: 1, argv: ARGV, folder, env: {}, slots, seconds: null });
  const submitted = Date.now() - start;
  while ((await engine.states([folder])).get(folder)?.state !== "ended") await delay(10);
  const ended = Date.now() - start;
  const { bytes } = await engine.logs(folder, 0);
  const said = new TextDecoder().decode(bytes).trim().split("\n").at(-1);
  return { submitted, began: Number(said) / 1e6 - start, ended };
}

function median(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!.toFixed(0).padStart(10);
}

/** `pause_ms`: after each, in which nothing is asked. */
async function measure(
  name: string,
  one: (n: number) => Promise<Took>,
  pause_ms = 0,
): Promise<void> {
  await one(-1); // what is done once: a first connection, compiled code
  const took: Took[] = [];
  for (let n = 0; n < JOBS; n++) {
    await delay(pause_ms);
    took.push(await one(n));
  }
  const columns = (["submitted", "began", "ended"] as const).map((key) =>
    median(took.map((t) => t[key]))
  );
  console.log(`${name.padEnd(16)}${columns.join("")}`);
}

console.log(`median of ${JOBS}, ms    submitted     began     ended`);
await measure("a plain child", plainly);
const slots = { cpu: 2, gpu: 0, memory_gb: null };
const local = new LocalEngine(join(root, "books"), { slots, cards: [], machine: "here" });
await measure("local", (n) => by(local, n));
await local.check(root); // as who runs a queue does: from here on a wrapper waits
await measure("local, waiting", (n) => by(local, 100 + n), 3000);
local[Symbol.dispose]();
const deno = Deno.execPath();
if (await hasSlurm()) {
  const cluster = await startSlurm();
  try {
    for (const [name, value] of Object.entries(cluster.env)) Deno.env.set(name, value);
    const options = { partition: null, account: null, minutes: null, gres: "gpu", extra: [] };
    const engine = new SlurmEngine("slurm", { ...options, deno, machine: null });
    await measure("slurm", (n) => by(engine, n));
  } finally {
    cluster.end();
  }
}
if (await hasRay()) {
  const cluster = await startRay();
  try {
    await measure("ray", (n) => by(cluster.engine(), n));
  } finally {
    cluster.end();
  }
}
Deno.exit();
