import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Child, startChild } from "../../../python-backends/child/start_child.ts";
import { ensureEnvironment } from "../../../python-backends/environments/environments.ts";
import { isAlive } from "../../../python-backends/process_owner.ts";
import { takeLease } from "../../../tracker/jobs/attempt/lease.ts";
import { MARKER } from "../../../tracker/jobs/attempt/remains.ts";
import { keepStacks } from "../../../tracker/jobs/queue/keep_stacks.ts";
import { attemptFolder, ownPaths } from "../../../tracker/store/queue/queue_paths.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { queueWorld } from "./queue_world.ts";

const cwd = new URL("../../../python-backends", import.meta.url).pathname;

/** A worker that hangs as one does whose library waits for a lock: no Python code of it runs any more. */
const HANGS = `
import sys
sys.path.insert(0, ${JSON.stringify(cwd)})
from pare_backends import worker
worker.begin(supervised=False)
def waits_for_ever():
    import threading
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
print("hangs", flush=True)
waits_for_ever()
`;

Deno.test("a worker that hangs says where, and goes on; other processes of the attempt are left alone", () =>
  inDirectory(async (root) => {
    const { python } = await ensureEnvironment("default");
    const folder = join(root, "attempt-1");
    await Deno.mkdir(folder);
    assert.equal(await keepStacks(folder), "no Python worker of it is seen here");
    const { token } = takeLease(folder)!;
    const start = (name: string, argv: string[]): Child =>
      startChild({
        ...{ argv, cwd, env: { [MARKER]: token }, output: "log" },
        log: join(root, `${name}.log`),
      });
    const children = [
      start("worker", [python, "-c", HANGS]),
      start("other", [python, "-c", "import time; print('pare_backends'); time.sleep(60)"]),
    ];
    try {
      await until("it hangs", async () => {
        const log = join(root, "worker.log");
        return existsSync(log) && (await Deno.readTextFile(log)).includes("hangs");
      }, 60_000);
      assert.equal(await keepStacks(folder), "where its worker stands is in stacks.txt");
      const text = await Deno.readTextFile(ownPaths(folder).stacks);
      assert.match(text, new RegExp(`process ${children[0]!.pid}, of .*worker\\.log`));
      assert.match(text, /in waits_for_ever/);
      assert.ok(!text.includes("hangs\n"), "what it said before is no part of it");
      assert.deepEqual(children.map(({ running }) => running), [true, true]);
      assert.ok(children.every(({ pid }) => isAlive({ pid, start: "" })));
    } finally {
      for (const child of children) child.kill();
      await Promise.all(children.map(({ exited }) => exited));
    }
  }));

Deno.test("a job whose worker hangs is restarted, and where it hung is kept", () =>
  inDirectory(async (root) => {
    const { python } = await ensureEnvironment("default");
    const file = join(root, "pare_backends_hang.py");
    await Deno.writeTextFile(file, HANGS);
    Deno.env.set("PARE_TEST_HANGS", `${python} ${file}`);
    const { submit, drive, job, paths } = await queueWorld(root);
    const slow = await submit(4);
    const { jobs } = await drive(async () => {
      await until("it is done", () => job(slow).state === "done", 60_000);
    }, { watch: { quiet_ms: 8_000 } });
    const { attempts, actions } = jobs.get(slow)!;
    assert.deepEqual(attempts.map(({ how }) => how), ["saved", "done"]);
    assert.deepEqual(actions.map(({ condition, remedy }) => [condition, remedy]), [
      ...[["no progress", "restarted"]],
    ]);
    assert.match(
      actions[0]!.evidence,
      /busy meanwhile; where its worker stands is in stacks\.txt$/,
    );
    const { stacks } = ownPaths(attemptFolder(paths, slow, 1));
    assert.match(await Deno.readTextFile(stacks), /in waits_for_ever/);
  }));
