import assert from "node:assert/strict";
import { holdJob } from "../../../core/jobs/ask.ts";
import { estimateOf } from "../../../core/jobs/estimate.ts";
import { listQueue } from "../../../core/jobs/list.ts";
import { cpus, PlainEngine, Scene } from "./scene.ts";

const UNSAID = { estimate_seconds: null, estimate_source: null };

/** Hours from now to the begin and the end of each listed job. */
function hours(scene: Scene, progress: Record<string, number> = {}): Record<string, number[]> {
  const list = listQueue(scene.queue, scene.now, new Map(Object.entries(progress)));
  return Object.fromEntries(
    [...list.running, ...list.queued, ...list.blocked].map(({ job, eta }) => [
      job.job_id,
      eta === null
        ? []
        : [eta.begins, eta.ends].map((at) => Math.round((at - scene.now) / 36_000) / 100),
    ]),
  );
}

Deno.test("a job takes what was said, or what is usual, until jobs of its kind and size are done", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(12))]);
  const kinds = ["task", "longbench", "ruler", "grid", "another"];
  for (const work_kind of kinds) scene.submit(work_kind, { work_kind, ...UNSAID });
  const estimates = () => [...scene.queue.jobs.values()].map((job) => estimateOf(scene.queue, job));
  assert.deepEqual(estimates().map(({ seconds }) => seconds / 3600), [0.5, 8, 4, 25, 0.5]);
  const own = scene.submit("study", { work_kind: "search", estimate_source: "budget" });
  assert.deepEqual(estimateOf(scene.queue, scene.job(own)), {
    ...{ seconds: 3600, spread: null, source: "budget", jobs: 0 },
  });
  for (const [n, seconds] of [100, 400, 200].entries()) {
    const id = scene.submit(`done ${n}`, { priority: "P0", work_kind: "search" });
    await scene.begin();
    await scene.end(id, "done", { seconds });
  }
  const { seconds, spread, source, jobs } = estimateOf(scene.queue, scene.job(own));
  assert.deepEqual([source, jobs], ["measured", 3]);
  assert.ok(Math.abs(seconds - 200) < 1e-9, "the geometric mean of 100, 200 and 400");
  assert.ok(
    Math.abs(spread! - Math.LN2) < 1e-9,
    "logs are one ln 2 apart, so that is their deviation",
  );
  const other = scene.submit("other size", { work_kind: "search", size: "7B", ...UNSAID });
  assert.equal(estimateOf(scene.queue, scene.job(other)).source, "usual");
});

Deno.test("the line is gone through in its order: when each begins and ends", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(2))]);
  const size = (name: string, estimate_seconds: number, cpu = 1) =>
    scene.submit(name, { work_kind: name, estimate_seconds, slots: cpus(cpu) });
  size("a", 3600), size("b", 7200), size("c", 3600, 2), size("d", 1800);
  const held = size("held", 60);
  scene.submit("after d", { work_kind: "e", after: [{ job_id: "EXP-004", met: false }] });
  scene.tell(holdJob(scene.queue, held, "waiting on Coding Agent", scene.at));
  await scene.begin();
  assert.deepEqual(hours(scene), {
    ...{ "EXP-001": [0, 1], "EXP-002": [0, 2], "EXP-003": [2, 3], "EXP-004": [3, 3.5] },
    ...{ "EXP-005": [], "EXP-006": [3.5, 4.5] },
  });
  const { running, queued, blocked } = listQueue(scene.queue, scene.now, new Map());
  assert.deepEqual([running, queued, blocked].map((rows) => rows.map(({ job }) => job.job_id)), [
    ["EXP-001", "EXP-002"],
    ["EXP-003", "EXP-004"],
    ["EXP-005", "EXP-006"],
  ]);
});

Deno.test("progress corrects what is expected of a job under way, the more of it there is", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  await scene.begin();
  scene.now += 1800 * 1000;
  assert.deepEqual(hours(scene)[id], [-0.5, 0.5], "an hour was said");
  // A tenth in half an hour is 5 hours in all; it is believed for a tenth.
  assert.deepEqual(hours(scene, { [id]: 0.1 })[id], [-0.5, 0.9]);
  assert.deepEqual(hours(scene, { [id]: 0.9 })[id], [-0.5, 0.1]);
  scene.now += 2 * 3600 * 1000;
  assert.deepEqual(hours(scene)[id], [-2.5, 0.25], "late already: a tenth of its time more");
});
