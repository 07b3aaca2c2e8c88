/** A queue that is driven really: its journal, this machine's slots, wrappers and programs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Attempt } from "../../../core/mod.ts";
import { LocalEngine } from "../../../tracker/jobs/engines/local/local_engine.ts";
import { ofAnotherStore } from "../../../tracker/jobs/engines/take_on.ts";
import { endOf } from "../../../tracker/jobs/attempt/attempt_state.ts";
import { readLease } from "../../../tracker/jobs/attempt/lease.ts";
import { attemptFolder, ownPaths } from "../../../tracker/store/queue/queue_paths.ts";
import { queueRows } from "../../../tracker/jobs/queue/queue_rows.ts";
import { executionPage, queuePage } from "../../../tracker/show/queue/queue_page.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { until } from "../../python-backends/scripted_worker.ts";
import { queueWorld } from "./queue_world.ts";

Deno.test("P0 begins at once: what runs is saved for it, and goes on from there afterwards", () =>
  inDirectory(async (root) => {
    const { submit, drive, job, disk, paths } = await queueWorld(root);
    const slow = await submit(2);
    const last = await submit(1, { priority: "P2" });
    await drive(async () => {
      await until("it runs", () => job(slow).state === "running", 30_000);
      await submit(1, { priority: "P0", title: "urgent" });
      await until(
        "all are done",
        () => [...disk.current().jobs.values()].every(({ state }) => state === "done"),
        60_000,
      );
    });
    assert.deepEqual(job(slow).attempts.map(({ how }) => how), ["saved", "done"]);
    assert.match(job(slow).attempts[0]!.stop!.reason, /makes room for EXP-003/);
    const began = (id: string) => job(id).attempts.at(-1)!.began!;
    assert.ok(began("EXP-003") < began(slow) && began(slow) < began(last), "P0, P1, P2");
    const rows = queueRows(disk.current(), paths, Date.now());
    assert.match(queuePage(rows, Date.now()), /### Ended\n- \[x\] EXP-002: .*\(done: /);
    assert.match(
      executionPage(disk.current()),
      /\| EXP-001 \| .* \| 1 \| local \| test \| .* \| saved \|/,
    );
  }));

Deno.test("a job that failed blocks what depends on it, and the reasons are told", () =>
  inDirectory(async (root) => {
    const { submit, drive, job, disk, paths } = await queueWorld(root);
    const wrong = await submit(3);
    const behind = await submit(1, { after: [{ job_id: wrong, met: false }] });
    const held = await submit(1, { hold: "waiting on Coding Agent" });
    await drive();
    assert.equal(job(wrong).state, "failed");
    assert.match(job(wrong).reason, /exit code 2: pare: Cannot do that/);
    const { work } = ownPaths(attemptFolder(paths, wrong, 1));
    assert.equal(JSON.parse(await Deno.readTextFile(work)).artifacts, "s3://models/pare");
    const page = queuePage(queueRows(disk.current(), paths, Date.now()), Date.now());
    assert.match(page, new RegExp(`${behind}: .*${wrong} failed: exit code 2`));
    assert.match(page, new RegExp(`${held}: .*held: waiting on Coding Agent`));
  }));

Deno.test("the death of a job's wrapper is seen, and the job is tried again", () =>
  inDirectory(async (root) => {
    const { submit, drive, job, paths } = await queueWorld(root);
    const slow = await submit(2);
    await drive(async () => {
      await until("it runs", () => job(slow).state === "running", 30_000);
      Deno.kill(readLease(attemptFolder(paths, slow, 1))!.pid, "SIGKILL");
      await until("it is lost", () => job(slow).attempts[0]!.how === "lost", 30_000);
    });
    assert.match(job(slow).reason, /vanished without a result/);
    assert.ok(job(slow).not_before! > Date.now() + 30_000, "it waits a minute");
  }));

Deno.test("a store that is moved takes its queue along; the same submission changes no document", () =>
  inDirectory(async (root) => {
    const first = await queueWorld(join(root, "here"));
    const job_id = await first.submit(1, { submission_id: "once" });
    assert.equal(await first.submit(3, { submission_id: "once" }), job_id);
    await Deno.rename(join(root, "here"), join(root, "there"));
    const moved = await queueWorld(join(root, "there"));
    await moved.drive();
    assert.equal(moved.job(job_id).state, "done", moved.job(job_id).reason);
    const [row] = queueRows(moved.disk.current(), moved.paths, Date.now());
    assert.equal(row!.store, moved.store);
  }));

Deno.test("without its driver a job goes on, and the next driver takes its result", () =>
  inDirectory(async (root) => {
    const { submit, drive, job, disk, paths } = await queueWorld(root);
    const slow = await submit(2);
    await drive(() => until("it runs", () => job(slow).state === "running", 30_000));
    const saidOf = () => queueRows(disk.current(), paths, Date.now())[0]!;
    assert.notEqual(saidOf().ends_at, null);
    assert.equal(job(slow).state, "running");
    Deno.kill(readLease(attemptFolder(paths, slow, 1))!.pid, "SIGTERM"); // as a machine that goes down
    await until("its result is there", () => endOf(attemptFolder(paths, slow, 1)) !== null, 60_000);
    const over = Date.now();
    const { state, progress_said, ends_at } = saidOf();
    assert.deepEqual([state, ends_at], ["running", null]);
    assert.match(progress_said!, /it has ended, as the next who runs the queue writes down/);
    const again = await drive(async () => {
      await until("it waits", () => job(slow).state === "waiting", 60_000);
    });
    const attempt = again.jobs.get(slow)!.attempts[0]!;
    assert.equal(attempt.how, "saved");
    // Its own end, and not the moment at which the second driver wrote it down.
    assert.ok(
      attempt.began! <= attempt.ended! && attempt.ended! <= over,
      `${attempt.ended} ${over}`,
    );
  }));

Deno.test("a copy of a store is told that the other one's job has its name, and does not take that for its own", () =>
  inDirectory(async (root) => {
    const { submit, drive, job, paths } = await queueWorld(root);
    const copied = await submit(1);
    const elsewhere = join(root, "first", "queue", "jobs", copied, "attempt-1");
    const slots = { cpu: 1, gpu: 0, memory_gb: null };
    class Cluster extends LocalEngine {
      override submit(attempt: Attempt): Promise<string> {
        return Promise.reject(ofAnotherStore("cluster", attempt, elsewhere));
      }
      override find(): Promise<string[]> {
        return Promise.resolve([elsewhere]);
      }
    }
    const engine = new Cluster(paths.books, { slots, cards: [], machine: "test" }, "cluster");
    const over = () => job(copied).state === "failed";
    await drive(() => until("it is refused", over, 20_000), { engines: [engine] });
    assert.match(job(copied).reason, /one of both stores is a copy of the other with its queue/);
  }));
