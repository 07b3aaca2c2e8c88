/** What a job that names its engine is told before it is in line. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type QueueOptions, submitTo } from "../../../tracker/jobs/queue/submit.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { queueWorld } from "./queue_world.ts";

const PARTITIONS = "PartitionName=long State=UP\\nPartitionName=shut State=DOWN";
const NODE = "NodeName=n1 CPUTot=8 Gres=gpu:4 RealMemory=64000 State=IDLE Partitions=long";

/** Takes a job and runs it at once, as on one machine that sees all folders. */
const RUNS = `echo run >> "$0.runs"
while [ "\${1%start.sh}" = "$1" ]; do shift; done
sh "$@" > /dev/null 2>&1 &`;

/** Takes a job, on whose machine the folder is not. */
const HIDDEN =
  `for word; do case "$word" in --job-name=*) echo "\${word#*=}" > "$0.name";; esac; done`;
const FAILED = `echo "$(cat "$(dirname "$0")/sbatch.name")|FAILED|76:0"`;

/** A queue where `scontrol` and others are these programs; "": there is no `scontrol`. */
function withCluster(
  scontrol: string,
  others: Readonly<Record<string, string>>,
  run: (world: Awaited<ReturnType<typeof queueWorld>>) => Promise<void>,
): Promise<void> {
  return inDirectory(async (root) => {
    const bin = join(root, "bin");
    mkdirSync(bin);
    for (const [name, body] of Object.entries({ scontrol, ...others })) {
      if (body === "") continue;
      writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    const path = Deno.env.get("PATH")!;
    Deno.env.set("PATH", scontrol === "" ? bin : `${bin}:${path}`);
    try {
      await run(await queueWorld(root));
    } finally {
      Deno.env.set("PATH", path);
    }
  });
}

const ANSWERS = `case "$2" in partition) printf '${PARTITIONS}\\n';; *) echo '${NODE}';; esac`;
const GPUS = { cpu: 1, gpu: 9, memory_gb: null };

Deno.test("a job for an engine that would never take it is refused in a sentence, and is not in line", () =>
  withCluster(ANSWERS, {}, async ({ submit, paths }) => {
    const cases: [string, Partial<QueueOptions>, RegExp][] = [
      ["slurm:lnog", {}, /^Unknown partition "lnog"\. Did you mean "long"\? Known: long, shut$/],
      ["slurm:shut", {}, /^Cannot submit to the partition shut as it is DOWN$/],
      [
        "slurm:long",
        { slots: GPUS },
        /^Cannot put .* slurm:long: it needs 9 cards, of 4 that its l/,
      ],
      ["local", { slots: { ...GPUS, gpu: 99 } }, /for local: it needs 99 cards, of \d+ that its l/],
      ["slrum:long", {}, /^Unknown kind of engine "slrum"\. Did you mean "slurm"\?/],
      ["clster", {}, /^Unknown engine "clster"\./],
    ];
    for (const [engine, more, message] of cases) {
      await assert.rejects(submit(1, { engine, ...more }), { name: "UsageError", message }, engine);
    }
    assert.deepEqual([paths.journal, join(paths.root, "documents")].map(existsSync), [
      false,
      false,
    ]);
  }));

Deno.test("a job for a cluster takes what one of its machines has, unless more is said", () =>
  withCluster(ANSWERS, { squeue: "true", sacct: "true", sbatch: RUNS }, async ({ disk, store }) => {
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1 };
    for (const wanted of ["EXP-001", "EXP-002"]) {
      const { job_id, unseen } = await submitTo(store, document, { engine: "slurm:long" });
      assert.deepEqual([job_id, unseen], [wanted, undefined]);
      assert.deepEqual(disk.current().jobs.get(job_id)!.slots, { cpu: 2, gpu: 1, memory_gb: null });
    }
    const runs = readFileSync(join(dirname(store), "bin", "sbatch.runs"), "utf8");
    assert.equal(runs, "run\n", "one small job sees the folder for both");
  }));

Deno.test("a job for a cluster whose machines do not see the store's folder is refused", () =>
  withCluster(
    ANSWERS,
    { squeue: "true", sacct: FAILED, sbatch: HIDDEN },
    async ({ submit, paths }) => {
      const message =
        `Cannot run jobs on slurm:long as its machines do not see ${paths.books}: keep the store in a ` +
        "folder that they share";
      for (let n = 0; n < 2; n++) {
        await assert.rejects(submit(1, { engine: "slurm:long" }), { name: "UsageError", message });
      }
      assert.deepEqual(existsSync(paths.journal), false);
    },
  ));

Deno.test("a cluster that is not here is refused, unless another machine runs what is in line", () =>
  withCluster("", {}, async ({ submit, paths, job }) => {
    const none = {
      name: "UsageError",
      message: /^Cannot ask .* as there is no scontrol here: run/,
    };
    await assert.rejects(submit(1, { engine: "slurm:long" }), none);
    mkdirSync(dirname(paths.driver), { recursive: true });
    const owner = { pid: 1, start: "", command: "pare", since: "", host: "login1" };
    writeFileSync(paths.driver, JSON.stringify(owner));
    using lock = Deno.openSync(paths.driver, { read: true });
    assert.ok(lock.tryLockSync(true));
    assert.equal(job(await submit(1, { engine: "slurm:long" })).asked.engine, "slurm:long");
  }));

Deno.test("a head that takes no such token refuses the job, and one that gives no answer may later", () =>
  inDirectory(async (root) => {
    const { submit, store } = await queueWorld(root);
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1 };
    await using head = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("", { status: 403 }),
    );
    const engine = `ray://127.0.0.1:${head.addr.port}`;
    const without = await submitTo(store, document, { engine });
    assert.match(without.unseen!, /^ray:\S+ is asked by whoever .*: Cannot use .* without a token/);
    Deno.env.set("RAY_AUTH_TOKEN", "wrong");
    try {
      const message =
        /^Cannot ask ray:\S+ for its jobs as ray:\S+ does not take the token of RAY_A/;
      await assert.rejects(submit(1, { engine }), { name: "UsageError", message });
      await head.shutdown();
      const later = await submitTo(store, document, { engine });
      assert.match(later.unseen!, /gives no answer/);
      assert.doesNotMatch(later.unseen!, /wrong/);
    } finally {
      Deno.env.delete("RAY_AUTH_TOKEN");
    }
  }));
