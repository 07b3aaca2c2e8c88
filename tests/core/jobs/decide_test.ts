import assert from "node:assert/strict";
import { cancelJob, holdJob, moveJob, releaseJob } from "../../../core/jobs/ask.ts";
import { budgetRows } from "../../../core/jobs/budget.ts";
import { planLine } from "../../../core/jobs/plan.ts";
import type { Wait } from "../../../core/jobs/waits.ts";
import { cpus, PlainEngine, Scene } from "./scene.ts";

/** Why each waiting job does not begin. */
function waits(scene: Scene): Record<string, Wait> {
  const found: Record<string, Wait> = {};
  planLine(scene.queue, scene.now, (job, wait) => found[job.job_id] = wait);
  return found;
}

function reasons(scene: Scene): Record<string, string> {
  return Object.fromEntries(Object.entries(waits(scene)).map(([id, { reason }]) => [id, reason]));
}

Deno.test("jobs begin in line while there are slots, and the next once one is over", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(2))]);
  for (const title of ["a", "b", "c"]) scene.submit(title);
  await scene.begin();
  assert.deepEqual(scene.states, ["running", "running", "waiting"]);
  assert.deepEqual(reasons(scene), {
    "EXP-003": "no slot free: 2 of 2 CPU taken by EXP-001, EXP-002",
  });
  assert.deepEqual(scene.engines[0]!.calls.slice(0, 2), [
    "submit pare-1f2e3d4c-exp-001 1",
    "submit pare-1f2e3d4c-exp-002 1",
  ]);
  await scene.end("EXP-001", "done");
  await scene.begin();
  assert.deepEqual(scene.states, ["done", "running", "running"]);
});

Deno.test("a P0 takes the slots of the lowest, latest begun that may be saved, and these go on after", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(3))]);
  const p1 = scene.submit("p1");
  await scene.begin();
  const kept = scene.submit("kept", { priority: "P2", may_be_saved: false });
  await scene.begin();
  scene.now += 1000;
  const p2 = scene.submit("p2", { priority: "P2" });
  await scene.begin();
  assert.deepEqual(scene.states, ["running", "running", "running"]);
  const behind = scene.submit("behind");
  const urgent = scene.submit("urgent", { priority: "P0" });
  await scene.begin();
  assert.equal(scene.job(p2).state, "saving");
  assert.equal(scene.job(p2).reason, `makes room for ${urgent}`);
  assert.equal(reasons(scene)[urgent], `begins once ${p2} made room`);
  assert.deepEqual([p1, kept].map((id) => scene.job(id).state), ["running", "running"]);
  assert.ok(scene.engines[0]!.calls.includes(`save pare-1f2e3d4c-exp-003-1`));
  await scene.end(p2, "saved", { seconds: 600 });
  await scene.begin();
  assert.equal(scene.job(urgent).state, "running");
  assert.deepEqual([scene.job(p2).state, scene.job(behind).state], ["waiting", "waiting"]);
  await scene.end(urgent, "done");
  await scene.begin();
  assert.deepEqual([scene.job(p2).state, scene.job(behind).state], ["waiting", "running"]);
  await scene.end(behind, "done");
  await scene.begin();
  assert.deepEqual([scene.job(p2).state, scene.job(p2).attempts.length], ["running", 2]);
  assert.equal(scene.job(p2).saved_seconds, 600);
});

Deno.test("a P0 stops no more than it needs, and nothing for slots that it cannot get", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(4))]);
  const small = scene.submit("small", { priority: "P2" });
  await scene.begin();
  const large = scene.submit("large", { slots: cpus(3) });
  await scene.begin();
  const urgent = scene.submit("urgent", { priority: "P0", slots: cpus(3) });
  await scene.begin();
  assert.deepEqual([small, large].map((id) => scene.job(id).state), ["running", "saving"]);
  assert.equal(scene.job(urgent).state, "waiting");

  const full = new Scene([new PlainEngine("local", cpus(4))]);
  const stays = full.submit("stays", { slots: cpus(3), may_be_saved: false });
  const other = full.submit("other", { priority: "P2" });
  await full.begin();
  full.submit("urgent", { priority: "P0", slots: cpus(2) });
  await full.begin();
  assert.deepEqual([stays, other].map((id) => full.job(id).state), ["running", "running"]);
});

Deno.test("small jobs pass a large one where they are over in time, and otherwise do not", async () => {
  const scene = new Scene();
  const first = scene.submit("first", { slots: cpus(3), estimate_seconds: 7200 });
  await scene.begin();
  const large = scene.submit("large", { slots: cpus(4) });
  const long = scene.submit("long", { estimate_seconds: 10_000, work_kind: "long" });
  const short = scene.submit("short", { estimate_seconds: 600, work_kind: "short" });
  await scene.begin();
  assert.deepEqual([large, long, short].map((id) => scene.job(id).state), [
    ...["waiting", "waiting", "running"],
  ]);
  assert.equal(scene.job(large).passed, 1);
  await scene.end(short, "done");
  assert.match(reasons(scene)[long]!, /^slots are kept for EXP-002, which needs 4 CPU$/);
  await scene.end(first, "done");
  await scene.begin();
  assert.deepEqual([large, long].map((id) => scene.job(id).state), ["running", "waiting"]);
});

Deno.test("a large job is passed eight times by small ones, and then by none", async () => {
  const scene = new Scene();
  // Each says a minute and takes for ever: a job is not passed for ever by estimates that are wrong.
  const first = scene.submit("first", {
    slots: cpus(3),
    estimate_seconds: 1e6,
    work_kind: "first",
  });
  await scene.begin();
  const large = scene.submit("large", { slots: cpus(4) });
  for (let n = 0; n < 12; n++) {
    const small = scene.submit(`small ${n}`, { estimate_seconds: 60, work_kind: "small" });
    await scene.begin();
    assert.equal(scene.job(small).state, n < 8 ? "running" : "waiting", `${n}`);
    if (n < 8) await scene.end(small, "done");
  }
  assert.equal(scene.job(large).passed, 8);
  await scene.end(first, "done");
  await scene.begin();
  assert.equal(scene.job(large).state, "running");
});

Deno.test("no P2 begins where a P0 or P1 waits for slots", async () => {
  const scene = new Scene();
  scene.submit("runs", { slots: cpus(2) });
  await scene.begin();
  scene.submit("large", { slots: cpus(4) });
  const idle = scene.submit("idle", { priority: "P2", estimate_seconds: 10 });
  await scene.begin();
  assert.equal(scene.job(idle).state, "waiting");
  assert.equal(reasons(scene)[idle], "begins when no P0 or P1 waits for slots");
});

Deno.test("a person moves, holds, releases and cancels", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(1))]);
  const [a, b, c] = ["a", "b", "c"].map((title) => scene.submit(title)) as [string, string, string];
  scene.tell(moveJob(scene.queue, c, { priority: null, before: a }, scene.at));
  await scene.begin();
  assert.equal(scene.job(c).state, "running");
  scene.tell(holdJob(scene.queue, c, "waiting on Coding Agent", scene.at));
  scene.tell(holdJob(scene.queue, a, "waiting on Coding Agent", scene.at));
  await scene.turn();
  assert.equal(scene.job(c).state, "saving");
  await scene.end(c, "saved");
  await scene.begin();
  assert.deepEqual([a, b, c].map((id) => scene.job(id).state), ["waiting", "running", "waiting"]);
  assert.deepEqual(waits(scene)[a], {
    ...{ reason: "held: waiting on Coding Agent", blocked: true, until: null },
  });
  scene.tell(cancelJob(scene.queue, b, "not needed any more", scene.at));
  scene.tell(cancelJob(scene.queue, a, "not needed any more", scene.at));
  await scene.turn();
  assert.deepEqual(scene.states, ["cancelled", "cancelling", "waiting"]);
  await scene.end(b, "failed");
  assert.equal(scene.job(b).state, "cancelled");
  scene.tell(releaseJob(scene.queue, c, scene.at));
  await scene.begin();
  assert.equal(scene.job(c).state, "running");
  assert.throws(() => cancelJob(scene.queue, "EXP-03", "no", scene.at), /Did you mean/);
  assert.throws(
    () => holdJob(scene.queue, a, "no", scene.at),
    /Cannot hold EXP-001: it is cancelled/,
  );
});

Deno.test("what a budget has cost is the price of what is over and of what runs", async () => {
  const engine = new PlainEngine("local", cpus(2));
  const plain = engine.capacity.bind(engine);
  engine.capacity = async () => ({ ...await plain(), price_per_hour: 6 });
  const scene = new Scene([engine]);
  const budget = { machine: "cpu", study: null, hours: 100, reserve_hours: 0 };
  scene.tell([{ type: "budget_set", at: scene.at, ...budget }]);
  const price = () => budgetRows(scene.queue, scene.now)[0]!.price;
  const [a] = [scene.submit("a"), scene.submit("b")];
  assert.equal(price(), null, "nothing was begun");
  await scene.begin();
  scene.now += 3_600_000;
  assert.equal(price(), 6, "an hour of both halves");
  await scene.end(a, "done", { seconds: 3600 });
  scene.now += 1_800_000;
  assert.equal(price(), 3 + 4.5);
});
