import assert from "node:assert/strict";
import { cancelJob, releaseJob, submitJob, tellAnyway } from "../../../core/jobs/ask.ts";
import { budgetRows } from "../../../core/jobs/budget.ts";
import { EngineError } from "../../../core/jobs/engine.ts";
import type { JobEvent } from "../../../core/jobs/events.ts";
import { planLine } from "../../../core/jobs/plan.ts";
import { emptyQueue } from "../../../core/jobs/queue_state.ts";
import { reduce } from "../../../core/jobs/reduce.ts";
import { asked, cpus, PlainEngine, Scene } from "./scene.ts";

function reason(scene: Scene, job_id: string): string | undefined {
  let found: string | undefined;
  planLine(scene.queue, scene.now, (job, wait) => {
    if (job.job_id === job_id) found = wait.reason;
  });
  return found;
}

Deno.test("a lost attempt is followed by another one after a minute, four, sixteen, and then by none", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  for (const [n, delay] of [60, 240, 960].entries()) {
    await scene.begin();
    assert.equal(scene.job(id).attempts.length, n + 1);
    scene.folder(id, { lease: "stale" });
    await scene.turn();
    assert.equal(scene.job(id).state, "waiting");
    assert.match(reason(scene, id)!, /^waits until 12:\d\d UTC to try again: it vanished without/);
    await scene.turn(delay - 1);
    assert.equal(scene.job(id).state, "waiting");
    await scene.turn(1);
    assert.equal(scene.job(id).state, "submitted");
  }
  await scene.begin();
  scene.folder(id, { lease: "stale" });
  await scene.turn();
  assert.equal(scene.job(id).state, "failed");
  assert.match(scene.job(id).reason, /it was tried 4 times$/);
});

Deno.test("what fails for good is not repeated, and what may pass is", async () => {
  const scene = new Scene();
  const [bad, full] = [scene.submit("bad"), scene.submit("full")];
  await scene.begin();
  await scene.end(bad, "failed", { code: 2, passing: true, reason: "no such model" });
  await scene.end(full, "failed", { passing: true, reason: "the disk is full" });
  assert.deepEqual(scene.states, ["failed", "waiting"]);
  assert.match(reason(scene, full)!, /to try again: the disk is full$/);
});

Deno.test("a remedy takes a failed job up again, with what it changes", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  await scene.begin();
  await scene.end(id, "failed", { reason: "out of memory" });
  assert.equal(scene.job(id).state, "failed");
  const more = { reason: "out of memory: half the batch", work: { batch: 4 }, slots: null };
  scene.tell([{ type: "remedied", at: scene.at, job_id: id, ...more, not_before: null }]);
  await scene.begin();
  assert.deepEqual([scene.job(id).state, scene.job(id).work], ["running", { batch: 4 }]);
});

Deno.test("the folder decides: a result ends an attempt, and a fresh lease keeps it, whatever is said", async () => {
  const scene = new Scene();
  const [a, b] = [scene.submit("a"), scene.submit("b")];
  await scene.begin();
  const says = scene.engines[0]!.states_now;
  says.set(scene.job(a).attempts[0]!.handle!, { state: "unknown", reason: "a new head" });
  says.set(scene.job(b).attempts[0]!.handle!, { state: "running" });
  await scene.turn(10_000);
  assert.deepEqual(scene.states, ["running", "running"]);
  const result = { how: "done", code: 0, reason: "done", seconds: 5, passing: false } as const;
  scene.folder(b, { result, lease: "fresh" });
  await scene.turn();
  assert.deepEqual(scene.states, ["running", "done"]);
});

Deno.test("an attempt that its engine lost before it began is closed, and only then followed", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  await scene.turn();
  const { handle } = scene.job(id).attempts[0]!;
  scene.engines[0]!.states_now.set(handle!, { state: "unknown", reason: "no such job" });
  await scene.turn(299);
  assert.equal(scene.job(id).state, "submitted");
  await scene.turn(1);
  assert.equal(scene.folders.get(`${id} 1`)?.lease, "closed");
  await scene.turn();
  assert.equal(scene.job(id).state, "waiting");
  assert.match(scene.job(id).reason, /^it never began: its engine says unknown/);
  await scene.turn(60);
  assert.deepEqual(scene.job(id).attempts.map(({ how }) => how), ["lost", null]);
  assert.ok(scene.engines[0]!.calls.includes(`submit pare-1f2e3d4c-exp-001 2`));
});

Deno.test("a refusal that comes because another core submitted the same is none", async () => {
  const scene = new Scene();
  const engine = scene.engines[0]!;
  const submit = engine.submit.bind(engine);
  const id = scene.submit("a");
  engine.submit = async (attempt) => {
    const handle = await submit(attempt);
    const key = { job_id: id, attempt: attempt.attempt };
    scene.tell([{ type: "attempt_submitted", at: scene.at, ...key, handle }]);
    throw new EngineError("refused", "500: already exists");
  };
  await scene.turn();
  assert.deepEqual([scene.job(id).state, scene.folders.size], ["submitted", 0]);
});

Deno.test("a refusal fails the job with the engine's words; where the engine has it all the same it runs", async () => {
  const scene = new Scene();
  const engine = scene.engines[0]!;
  const submit = engine.submit.bind(engine);
  engine.refuses = new EngineError("refused", "partition gpu does not exist: say one of debug");
  const id = scene.submit("a");
  await scene.turn();
  assert.deepEqual([scene.job(id).state, scene.job(id).reason], [
    ...["failed", "partition gpu does not exist: say one of debug"],
  ]);
  assert.equal(scene.folders.get(`${id} 1`)?.lease, "closed");
  engine.refuses = null;
  engine.submit = async (attempt) => {
    await submit(attempt);
    throw new EngineError("refused", "500: already exists");
  };
  const other = scene.submit("b");
  await scene.begin();
  assert.equal(scene.job(other).state, "running");
});

Deno.test("an engine that is down delays and loses nothing; after five minutes another one takes over", async () => {
  const scene = new Scene([new PlainEngine("a", cpus(1)), new PlainEngine("b", cpus(1))]);
  const [first, second] = scene.engines as [PlainEngine, PlainEngine];
  const id = scene.submit("x", { engine: "a" });
  const any = scene.submit("y");
  await scene.begin();
  assert.equal(scene.job(any).attempts[0]!.engine, "b");
  await scene.end(any, "done");
  const next = scene.submit("z");
  await scene.turn();
  const also = scene.submit("asks for a", { engine: "a" });
  second.refuses = new EngineError("down", "no route");
  first.refuses = new EngineError("down", "connection refused");
  await scene.turn();
  assert.equal(reason(scene, also), "engine a does not answer: connection refused");
  assert.deepEqual(scene.states, ["running", "done", "submitted", "waiting"]);
  await scene.turn(300);
  await scene.turn();
  assert.deepEqual([scene.job(id).state, scene.job(next).state], ["running", "waiting"]);
  assert.equal(scene.job(next).retries, 0);
  second.refuses = null;
  await scene.turn();
  assert.equal(scene.job(next).state, "submitted");
  assert.ok(second.calls.includes("cancel pare-1f2e3d4c-exp-003-1"), "what it may still hold");
});

Deno.test("what an engine that is up does not do is said, and asked for again", async () => {
  const scene = new Scene();
  const engine = scene.engines[0]!;
  const id = scene.submit("a");
  engine.submit = () => Promise.reject(new EngineError("down", "sbatch gave no answer"));
  await scene.turn();
  const { changed, undone } = await scene.turn(1);
  assert.deepEqual([changed, undone], [false, [
    `Cannot submit ${id} on local: sbatch gave no answer`,
  ]]);
  engine.cancel = () => Promise.reject(new EngineError("refused", "404: no such job"));
  engine.states = () => Promise.reject(new EngineError("down", "no answer"));
  engine.submit = () => Promise.resolve("handle");
  await scene.turn();
  scene.folder(id, { lease: "stale" });
  await scene.turn();
  engine.states = () => Promise.resolve(new Map());
  await scene.turn();
  assert.equal(scene.queue.left_behind.size, 0, "it does not know what it was to end");
});

Deno.test("what is cancelled before it began ends at once, though its engine keeps it", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  await scene.turn();
  scene.tell(cancelJob(scene.queue, id, "a slip", scene.at));
  await scene.turn();
  await scene.turn();
  assert.equal(scene.job(id).state, "cancelled");
  assert.equal(scene.engines[0]!.states_now.get("pare-1f2e3d4c-exp-001-1")?.state, "queued");
  await scene.turn();
  assert.equal(scene.queue.left_behind.size, 0);
});

Deno.test("who does not save within a quarter of an hour is ended", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(1))]);
  const slow = scene.submit("slow", { priority: "P2" });
  await scene.begin();
  const urgent = scene.submit("urgent", { priority: "P0" });
  await scene.turn();
  await scene.turn(899);
  assert.ok(!scene.engines[0]!.calls.some((call) => call.startsWith("cancel")));
  await scene.turn(121);
  assert.ok(scene.engines[0]!.calls.includes("cancel pare-1f2e3d4c-exp-001-1"));
  scene.folder(slow, { lease: "stale" });
  await scene.begin();
  assert.deepEqual([scene.job(slow).state, scene.job(slow).retries], ["waiting", 0]);
  assert.equal(scene.job(urgent).state, "running");
});

Deno.test("a job waits for others, and is blocked where these fail or do not meet their criteria", async () => {
  const scene = new Scene();
  const success = [{ text: "accuracy drop decided ≤ 0.02", parsed: null }];
  const base = scene.submit("base", { success });
  const then = scene.submit("then", { after: [{ job_id: base, met: true }] });
  const any = scene.submit("any", { after: [{ job_id: base, met: false }] });
  const failed = scene.submit("failed", { after: [{ job_id: any, met: false }] });
  await scene.begin();
  assert.equal(reason(scene, then), "waits for EXP-001");
  await scene.end(base, "done");
  await scene.begin();
  assert.equal(scene.job(any).state, "running");
  assert.match(reason(scene, then)!, /^waits until it is judged whether EXP-001 meets "accuracy/);
  const judged = (verdict: "undecided" | "met" | "not_met"): JobEvent => ({
    ...{ type: "criterion_judged", at: scene.at, job_id: base, index: 0, verdict, reason: "0.01" },
  });
  scene.tell([judged("undecided")]);
  assert.match(reason(scene, then)!, /^EXP-001 left undecided whether/);
  scene.tell([judged("not_met")]);
  assert.match(reason(scene, then)!, /^EXP-001 did not meet "accuracy drop decided ≤ 0.02"$/);
  scene.tell([judged("met")]);
  await scene.end(any, "failed", { reason: "no such task" });
  assert.equal(reason(scene, failed), "EXP-003 failed: no such task");
  await scene.begin();
  assert.equal(scene.job(then).state, "running");
});

Deno.test("what no engine has, what is missing and what others hold is said", async () => {
  const scene = new Scene();
  const cards = scene.submit("cards", { slots: cpus(1, 2) });
  const data = scene.submit("data");
  const there = scene.submit("there", { engine: "slurm" });
  scene.lacks.set(data, "data missing: qasper");
  await scene.begin();
  assert.equal(reason(scene, cards), "no machine here has 2 cards");
  assert.equal(reason(scene, data), "data missing: qasper");
  assert.equal(reason(scene, there), 'engine "slurm" is not here: there is local');
  scene.lacks.clear();
  scene.tell(releaseJob(scene.queue, data, scene.at));
  await scene.begin();
  assert.equal(scene.job(data).state, "running");
});

Deno.test("nothing begins that cannot end within its budget unless told, and spent ones are stopped", async () => {
  const scene = new Scene();
  const budget = { machine: "cpu", study: null, hours: 2, reserve_hours: 0.5 };
  scene.tell([{ type: "budget_set", at: scene.at, ...budget }]);
  const [a, b] = ["a", "b"].map((title) => scene.submit(title, { work_kind: title })) as [
    string,
    string,
  ];
  await scene.begin();
  assert.deepEqual(scene.states, ["running", "waiting"]);
  assert.equal(
    reason(scene, b),
    "would not end within the compute budget of 2 h of cpu: 0.5 h are left, and it takes about 1.0 h",
  );
  const [row] = budgetRows(scene.queue, scene.now);
  assert.deepEqual([row!.spent, row!.under_way, row!.waiting, row!.left], [0, 1, 1, -0.5]);
  scene.tell(tellAnyway(scene.queue, b, scene.at));
  await scene.begin();
  assert.deepEqual(scene.states, ["running", "running"]);
  await scene.turn(3600);
  assert.deepEqual(
    scene.states,
    ["saving", "running"],
    "both had an hour, and b was told to go on",
  );
  await scene.end(a, "saved", { seconds: 3600 });
  assert.equal(budgetRows(scene.queue, scene.now)[0]!.spent, 1);
  assert.match(reason(scene, a)!, /^would not end within the compute budget/);
});

Deno.test("a study's budget is its own, and its reserve is for attempts after a first one", async () => {
  const scene = new Scene();
  const budget = { machine: null, study: "s1", hours: 1.5, reserve_hours: 1 };
  scene.tell([{ type: "budget_set", at: scene.at, ...budget }]);
  const own = scene.submit("own", { study: "s1" });
  scene.submit("other", { study: "s2" });
  scene.submit("nobody's");
  await scene.begin();
  assert.deepEqual(scene.states, ["waiting", "running", "running"]);
  assert.match(reason(scene, own)!, /^would not end .* of 1.5 h for study s1: 0.5 h are left/);
  scene.tell([{ type: "budget_set", at: scene.at, ...budget, hours: 2 }]);
  await scene.begin();
  assert.equal(scene.job(own).state, "running");
  scene.now += 600_000;
  scene.folder(own, { lease: "stale" });
  await scene.turn();
  await scene.turn(60);
  assert.equal(scene.job(own).state, "submitted", "an hour of the reserve is left for it");
});

Deno.test("a submission adds one job however often it comes, and what cannot be is refused", () => {
  const scene = new Scene();
  assert.deepEqual([scene.submit("a"), scene.submit("b"), scene.submit("a")], [
    ...["EXP-001", "EXP-002", "EXP-001"],
  ]);
  assert.equal(scene.queue.jobs.size, 2);
  const refused = (title: string, more: Parameters<typeof asked>[1], words: RegExp) =>
    assert.throws(() => submitJob(scene.queue, asked(title, more), scene.at), words);
  refused("c", { after: [{ job_id: "EXP-009", met: false }] }, /Unknown job "EXP-009"/);
  refused("c", { after: [{ job_id: "EXP-001", met: true }] }, /it has none/);
  refused("c", { slots: cpus(0) }, /asks for 0 CPU and 0 cards/);
});

Deno.test("an event that comes too late or twice changes nothing", async () => {
  const scene = new Scene();
  const [a, b] = [scene.submit("a"), scene.submit("b")];
  await scene.begin();
  await scene.end(a, "done");
  scene.tell(cancelJob(scene.queue, b, "a slip", scene.at));
  await scene.turn();
  scene.folder(b, { lease: "stale" });
  await scene.turn();
  const told = [...scene.disk.events];
  const before = structuredClone(scene.queue);
  const twice = emptyQueue();
  for (const event of told) {
    reduce(twice, event);
    const once = structuredClone(twice);
    // A plan for an attempt that is over is late as well.
    reduce(twice, event);
    assert.deepEqual({ ...twice, events: 0 }, { ...once, events: 0 }, event.type);
    (twice as { events: number }).events--;
  }
  assert.deepEqual(twice, before);
  for (const event of told) reduce(twice, event);
  assert.deepEqual({ ...twice, events: 0 }, { ...before, events: 0 });
});
