/** The queue with a pre-emption, and an attempt's folder from its request to its result. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { JobEvent } from "../../../core/mod.ts";
import { readWhole, writeWhole } from "../../../python-backends/whole_file.ts";
import {
  attemptPaths,
  readRequest,
  readResult,
  writeRequest,
} from "../../../tracker/jobs/attempt/attempt_folder.ts";
import { closeAttempt, takeLease } from "../../../tracker/jobs/attempt/lease.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import {
  attemptFolder,
  jobDocument,
  queuePaths,
} from "../../../tracker/store/queue/queue_paths.ts";
import { holdInvariants } from "../invariants.ts";
import { preemptingQueue } from "./queue_events.ts";
import { acknowledge, numbersOf, type Workload } from "./workload.ts";

const EVENTS = preemptingQueue();

/** Each event of the queue as its drivers append them; documents before their submission. */
async function work(store: string): Promise<void> {
  const paths = queuePaths(store);
  const disk = new QueueDisk(paths.journal);
  for (const [n, event] of EVENTS.entries()) {
    if (event.type === "submitted") {
      writeWhole(jobDocument(paths, event.submission_id), { model_name: event.title });
    }
    await disk.transact(() => [event]);
    acknowledge(`event ${n}`);
    if (event.type === "attempt_planned") {
      const { job_id, attempt } = event;
      const folder = attemptFolder(paths, job_id, attempt);
      writeRequest({ id: `q-${job_id}`, attempt, argv: ["true"], folder, seconds: null });
      acknowledge(`request ${n}`);
      const lease = takeLease(folder)!;
      acknowledge(`lease ${n}`);
      writeWhole(attemptPaths(folder).result, {
        ...{ id: `q-${job_id}`, attempt, token: lease.token, how: "done", code: 0 },
        ...{ signal: null, not_started: null, seconds: 1 },
      });
      acknowledge(`result ${n}`);
    }
  }
}

/** The folder of the attempt that the n-th event plans. */
function folderOf(store: string, n: number): string {
  const event = EVENTS[n]!;
  assert.ok(event.type === "attempt_planned");
  return attemptFolder(queuePaths(store), event.job_id, event.attempt);
}

export const queueWorkload: Workload = {
  name: "queue",
  script: import.meta.filename!,
  adds_up: true,
  async check(store, acknowledged, _nth, hit) {
    const paths = queuePaths(store);
    const disk = new QueueDisk(paths.journal);
    const queue = disk.current();
    await holdInvariants({ queue });
    const read = existsSync(paths.journal)
      ? Deno.readTextFileSync(paths.journal).split("\n").slice(0, -1).map((line) =>
        JSON.stringify(JSON.parse(line.slice(line.indexOf("{"))))
      )
      : [];
    const sent = EVENTS.map((event) => JSON.stringify(JobEvent.parse(event)));
    const due = numbersOf(acknowledged, "event").map((n) => sent[n]!);
    await holdInvariants({ records: { read, sent, acknowledged: due } });
    // A disk that says it has renamed what it has not may lose a document: the job then says so.
    for (const submission_id of hit?.lied === true ? [] : queue.submissions.keys()) {
      const document = readWhole(jobDocument(paths, submission_id));
      assert.ok(
        document !== null,
        `${submission_id} is in the queue, and its document is not there`,
      );
    }
    for (const n of numbersOf(acknowledged, "request")) {
      assert.ok(readRequest(folderOf(store, n)) !== null, `the request of event ${n} is lost`);
    }
    for (const n of numbersOf(acknowledged, "lease")) {
      const again = takeLease(folderOf(store, n));
      assert.equal(again, null, `the attempt of event ${n} would be begun twice`);
      assert.equal(closeAttempt(folderOf(store, n)), false, "what has begun is closed");
    }
    for (const n of numbersOf(acknowledged, "result")) {
      assert.ok(readResult(folderOf(store, n)) !== null, `the result of event ${n} is lost`);
    }
    const at = "2026-03-01T12:00:00.000Z";
    const budget = { machine: "next", study: null, hours: 1, reserve_hours: 0 };
    await disk.transact(() => [{ type: "budget_set", at, ...budget }]);
    const next = new QueueDisk(paths.journal).current();
    assert.ok(next.budgets.some(({ machine }) => machine === "next"), "the next event is lost");
    assert.equal(next.jobs.size, queue.jobs.size);
  },
};

if (import.meta.main) await work(Deno.args[0]!);
