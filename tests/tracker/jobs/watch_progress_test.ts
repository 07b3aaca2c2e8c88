import assert from "node:assert/strict";
import { join } from "node:path";
import {
  emptyQueue,
  type JobEvent,
  openQueue,
  type Queue,
  reduce,
  type Submission,
  submitJob,
} from "../../../core/mod.ts";
import { notify } from "../../../tracker/jobs/queue/notify.ts";
import { attemptFolder, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { watchProgress } from "../../../tracker/jobs/queue/watch_progress.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";

const MINUTE = 60_000;
const SLOTS = { cpu: 1, gpu: 0, memory_gb: null };

const ASKED: Submission = {
  ...{ submission_id: "a", title: "a", priority: "P1", work: {}, work_kind: "search", size: "" },
  ...{ study: null, engine: null, after: [], success: [], may_be_saved: true, slots: SLOTS },
  ...{ estimate_seconds: null, estimate_source: null, anyway: false },
};

function begun(queue: Queue, attempt: number, now: number): void {
  const at = new Date(now).toISOString();
  const key = { at, job_id: "EXP-001", attempt };
  const planned: JobEvent = {
    ...{ type: "attempt_planned", ...key, engine: "local", machine: "test", slots: SLOTS },
    ...{ passes: [], reason: "its turn" },
  };
  for (const event of [planned, { type: "attempt_began" as const, ...key }]) reduce(queue, event);
}

Deno.test("a job whose log stands still for half an hour is restarted once, and then told", () =>
  inDirectory(async (root) => {
    const paths = queuePaths(root);
    const start = Date.parse("2026-01-01T00:00:00Z");
    const at = new Date(start).toISOString();
    const queue = emptyQueue();
    for (const event of openQueue(queue, "00c0ffee", at)) reduce(queue, event);
    for (const event of submitJob(queue, ASKED, at)) reduce(queue, event);
    const watch = watchProgress(paths);
    const write = async (attempt: number, minutes: number) => {
      const folder = attemptFolder(paths, "EXP-001", attempt);
      await Deno.mkdir(folder, { recursive: true });
      const log = join(folder, "log");
      await Deno.writeTextFile(log, "trial 1\n");
      await Deno.utime(log, new Date(start + minutes * MINUTE), new Date(start + minutes * MINUTE));
    };
    assert.deepEqual(watch(queue, start + 99 * MINUTE), [], "it waits");
    begun(queue, 1, start);
    await write(1, 20);
    assert.deepEqual(watch(queue, start + 49 * MINUTE), []);
    const [acted, asked, ...more] = watch(queue, start + 51 * MINUTE);
    assert.deepEqual(more, []);
    assert.ok(acted?.type === "acted" && acted.remedy === "restarted");
    reduce(queue, acted);
    assert.ok(asked?.type === "save_asked");
    assert.match(asked.reason, /^no progress for 31 min; .*another one.*: it is restarted, once$/);
    reduce(queue, asked);
    assert.deepEqual(watch(queue, start + 52 * MINUTE), [], "it was asked already");
    const ended = { how: "saved" as const, code: 130, reason: "it was saved", seconds: 1 };
    reduce(queue, {
      ...{ type: "attempt_ended", at, job_id: "EXP-001", attempt: 1, ...ended },
      ...{ left_behind: false, next: "again", not_before: null },
    });
    begun(queue, 2, start + 60 * MINUTE);
    await write(2, 61);
    const [told, ...others] = watch(queue, start + 92 * MINUTE);
    assert.deepEqual(others, []);
    assert.ok(told?.type === "acted" && told.remedy === "told");
    assert.match(told.evidence, /^no progress for 31 min/);
    reduce(queue, told);
    assert.deepEqual(watch(queue, start + 93 * MINUTE), [], "told once");
    const actions = queue.jobs.get("EXP-001")!.actions;
    assert.deepEqual(actions.map(({ remedy, attempt }) => [remedy, attempt]), [
      ...[["restarted", 1], ["told", 2]],
    ]);
  }));

Deno.test("a webhook and a program are told as JSON; one that fails is named and holds up nothing", () =>
  inDirectory(async (root) => {
    const heard: string[] = [];
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        heard.push(await request.text());
        return new Response(null, { status: request.url.includes("/no") ? 500 : 204 });
      },
    );
    const file = join(root, "told.json");
    const program = join(root, "tell.sh");
    await Deno.writeTextFile(program, `#!/bin/sh\ncat > ${file}\n`, { mode: 0o755 });
    const row = {
      ...{ job_id: "EXP-001", title: "$(touch x)", state: "failed", reason: "exit code 2" },
      ...{ study_id: "s", store: root },
    };
    const address = `http://127.0.0.1:${server.addr.port}`;
    const said: string[] = [];
    const before = console.error;
    console.error = (line: string) => said.push(line);
    try {
      const secret = `http://user:key@127.0.0.1:${server.addr.port}/no?token=secret`;
      await notify([address, program, secret, join(root, "nothere")], row);
    } finally {
      console.error = before;
      await server.shutdown();
    }
    const notices = [heard[0]!, await Deno.readTextFile(file)].map((text) => JSON.parse(text));
    for (const { at, ...notice } of notices) {
      assert.deepEqual(notice, row);
      assert.ok(Date.parse(at) > 0);
    }
    assert.equal(said.length, 2, said.join("\n"));
    assert.ok(said.every((line) => /could not be told of EXP-001/.test(line)), said.join("\n"));
    assert.ok(!said.join().includes("secret") && !said.join().includes("key@"), said.join("\n"));
  }));
