/** What a job that names its engine is told before it is in line. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type QueueOptions, submitTo } from "../../../tracker/jobs/queue/submit.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { queueWorld } from "./queue_world.ts";

const PARTITIONS = "PartitionName=long State=UP\\nPartitionName=shut State=DOWN";
const NODE = "NodeName=n1 CPUTot=8 Gres=gpu:4 RealMemory=64000 State=IDLE Partitions=long";

/** A queue where `scontrol` is this program; "": there is none. */
function withCluster(
  scontrol: string,
  run: (world: Awaited<ReturnType<typeof queueWorld>>) => Promise<void>,
): Promise<void> {
  return inDirectory(async (root) => {
    const bin = join(root, "bin");
    mkdirSync(bin);
    if (scontrol !== "") writeFileSync(join(bin, "scontrol"), `#!/bin/sh\n${scontrol}\n`);
    if (scontrol !== "") chmodSync(join(bin, "scontrol"), 0o755);
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
  withCluster(ANSWERS, async ({ submit, paths }) => {
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
  withCluster(ANSWERS, async ({ disk, store }) => {
    const document = { model_name: "tiny", dataset: "tiny", max_trials: 1 };
    const { job_id, unseen } = await submitTo(store, document, { engine: "slurm:long" });
    assert.equal(unseen, undefined);
    assert.deepEqual(disk.current().jobs.get(job_id)!.slots, { cpu: 2, gpu: 1, memory_gb: null });
  }));

Deno.test("a cluster that is not here is refused, unless another machine runs what is in line", () =>
  withCluster("", async ({ submit, paths, job }) => {
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
