/** The queue as tables of the index: what its journal says, however it grew or was changed. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { type JobEvent, openQueue, type Submission, submitJob } from "../../../core/mod.ts";
import { writeWhole } from "../../../python-backends/whole_file.ts";
import { checkIndex } from "../../../tracker/store/index/check_index.ts";
import { QueueDisk } from "../../../tracker/store/queue/queue_disk.ts";
import { attemptFolder, ownPaths, queuePaths } from "../../../tracker/store/queue/queue_paths.ts";
import { queueRows } from "../../../tracker/jobs/queue/queue_rows.ts";
import { queuePage } from "../../../tracker/show/queue/queue_page.ts";
import { openStore, rebuildDatabase } from "../../../tracker/store/store.ts";
import { storePaths } from "../../../tracker/store/store_paths.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import { studyRecords } from "../../fixtures/stores/records.ts";
import { recordedStore } from "../../fixtures/stores/recorded.ts";

const SLOTS = { cpu: 2, gpu: 0, memory_gb: null };
const SUCCESS = { text: "accuracy drop <= 0.02", parsed: null };

function asked(submission_id: string): Submission {
  return {
    ...{ submission_id, title: submission_id, priority: "P1", work_kind: "search", size: "tiny" },
    ...{ work: { study_id: submission_id }, study: null, engine: null, after: [], slots: SLOTS },
    ...{ success: [SUCCESS], may_be_saved: true, estimate_seconds: null, estimate_source: null },
    anyway: false,
  };
}

const minutes = (n: number) => new Date(Date.UTC(2026, 0, 1, 12, n)).toISOString();

function seen(price_per_hour: number | null): JobEvent {
  const total = { cpu: 4, gpu: 0, memory_gb: 16 };
  const others = { cpu: 0, gpu: 0, memory_gb: 0 };
  const slots = { total, largest: total, others };
  return {
    ...{ type: "engine_seen", at: minutes(0), engine: "cluster", machine: "a", price_per_hour },
    ...slots,
  };
}

function began(attempt: number, from: number): JobEvent[] {
  const key = { at: minutes(from), job_id: "EXP-001", attempt };
  return [
    {
      ...{ type: "attempt_planned", ...key, engine: "cluster", machine: "a", slots: SLOTS },
      ...{ passes: [], reason: "its turn" },
    },
    { type: "attempt_began", ...key },
  ];
}

function ended(attempt: number, at: number, how: "lost" | "done"): JobEvent {
  return {
    ...{ type: "attempt_ended", at: minutes(at), job_id: "EXP-001", attempt, how, code: null },
    ...{ reason: how === "lost" ? "it vanished" : "done", seconds: 1800, left_behind: false },
    ...{ next: how === "lost" ? "again" : "done", not_before: null },
  };
}

Deno.test("jobs, attempts, checks, criteria and actions are tables that follow the queue's journal", () =>
  inDirectory(async (root) => {
    await (await recordedStore(root, studyRecords())).close();
    const paths = queuePaths(root);
    const disk = new QueueDisk(paths.journal);
    const append = (...events: JobEvent[]) => disk.transact(() => events);
    const ask = async (sql: string) => {
      await using store = await openStore(root, { write: false });
      return (await store.query(sql)).rows;
    };
    await disk.transact((queue) => [
      ...openQueue(queue, "00c0ffee", minutes(0)),
      ...submitJob(queue, asked("one"), minutes(0)),
      seen(8),
    ]);
    await disk.transact((queue) => submitJob(queue, asked("two"), minutes(0)));
    assert.deepEqual(await ask("SELECT job_id, job_state, study_id FROM queue_jobs ORDER BY ALL"), [
      { job_id: "EXP-001", job_state: "waiting", study_id: "one" },
      { job_id: "EXP-002", job_state: "waiting", study_id: "two" },
    ]);

    await append(...began(1, 1), ended(1, 31, "lost"));
    const actions = "SELECT attempt, condition, remedy, outcome FROM queue_actions";
    assert.deepEqual(await ask(actions), [
      { attempt: 1, condition: "lost", remedy: "retried", outcome: "not yet: waiting" },
    ]);
    const checklist = ownPaths(attemptFolder(paths, "EXP-001", 2)).checklist;
    await Deno.mkdir(dirname(checklist), { recursive: true });
    writeWhole(checklist, { before: [{ check: "disk", ok: true, said: "9 GB free" }] });
    const judged = { at: minutes(70), job_id: "EXP-001", index: 0, reason: "it is 0.01" };
    await append(...began(2, 32), ended(2, 62, "done"), {
      ...{ type: "criterion_judged", ...judged, verdict: "met" },
    });
    assert.deepEqual(await ask(actions), [
      { attempt: 1, condition: "lost", remedy: "retried", outcome: "done: done" },
    ]);
    assert.deepEqual(await ask("SELECT attempt, looked, check_name, passed FROM queue_checks"), [
      { attempt: 2, looked: "before", check_name: "disk", passed: true },
    ]);
    assert.deepEqual(
      await ask("SELECT judged, reason FROM queue_criteria WHERE job_id = 'EXP-001'"),
      [
        { judged: "met", reason: "it is 0.01" },
      ],
    );
    // Half of the engine's slots for an hour, at 8 an hour.
    assert.deepEqual(
      await ask(
        "SELECT engine, count(*) n, sum(seconds) / 3600 AS h, sum(price) AS p " +
          "FROM queue_attempts GROUP BY ALL",
      ),
      [{ engine: "cluster", n: 2, h: 1, p: 4 }],
    );

    const { wrong } = await checkIndex(storePaths(root));
    assert.deepEqual(wrong, []);
    const row = queueRows(disk.current(), paths, Date.now()).find(({ state }) => state === "done")!;
    assert.deepEqual([row.job_id, row.price], ["EXP-001", 4]);
    assert.match(queuePage([row], Date.now()), /EXP-001: one \(done: done; .* met; cost 4\.00\)/);
    const before = await ask("FROM queue_attempts ORDER BY ALL");
    {
      await using store = await openStore(root, { write: true });
      await rebuildDatabase(store);
    }
    assert.deepEqual(await ask("FROM queue_attempts ORDER BY ALL"), before);
  }));

Deno.test("a queue whose journal is damaged is told of and hides nothing else; one that is gone leaves no rows", () =>
  inDirectory(async (root) => {
    await (await recordedStore(root, studyRecords())).close();
    const { journal, root: folder } = queuePaths(root);
    const disk = new QueueDisk(journal);
    await disk.transact((queue) => [
      ...openQueue(queue, "00c0ffee", minutes(0)),
      ...submitJob(queue, asked("one"), minutes(0)),
    ]);
    await Deno.writeTextFile(journal, "2 00000000 {}\n", { append: true });
    await using store = await openStore(root, { write: false });
    const count = async (sql: string) => (await store.query(sql)).rows[0]!["n"];
    assert.ok(Number(await count("SELECT count(*) n FROM trials")) > 0);
    const [row] = (await store.query("SELECT problem FROM problems")).rows;
    assert.match(String(row!["problem"]), /Cannot read line 3 of .*its checksum does not match/);
    await Deno.rename(folder, `${folder}-away`);
    assert.equal(await count("SELECT count(*) n FROM queue_jobs"), 0);
    assert.equal(await count("SELECT count(*) n FROM problems"), 0);
    await Deno.rename(`${folder}-away`, folder);
    await Deno.truncate(journal, (await Deno.stat(journal)).size - 14);
    assert.equal(await count("SELECT count(*) n FROM queue_jobs"), 1);
  }));
