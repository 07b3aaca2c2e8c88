import assert from "node:assert/strict";
import { holdJob } from "../../../core/jobs/ask.ts";
import { EngineError } from "../../../core/jobs/engine.ts";
import { isIdle } from "../../../core/jobs/idle.ts";
import { cpus, PlainEngine, Scene } from "./scene.ts";

/** As who drives it sees it, with the engines that are here. */
function idle({ queue, now, engines }: Scene, here = engines.map(({ name }) => name)): boolean {
  const capacities = new Map(here.map((name) => [name, "it was not asked"]));
  return isIdle({ queue, seen: { engines: capacities, attempts: new Map() } }, now);
}

Deno.test("a queue is idle once nothing runs and what waits is blocked", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  await scene.begin();
  assert.equal(idle(scene), false, "one runs");
  const held = scene.submit("b");
  scene.tell(holdJob(scene.queue, held, "its data come on Monday", scene.at));
  await scene.end(id, "done");
  assert.equal(idle(scene), true);
});

Deno.test("a queue whose engine does not answer for a moment is not idle, and is after five minutes", async () => {
  const engine = new PlainEngine("local", cpus(1));
  const scene = new Scene([engine]);
  await scene.turn();
  engine.refuses = new EngineError("down", "no answer for 9 s");
  scene.submit("a");
  await scene.turn();
  assert.equal(idle(scene), false);
  assert.equal(idle(scene, []), true, "one that is not here does not come back");
  await scene.turn(299);
  assert.equal(idle(scene), false);
  await scene.turn(1);
  assert.equal(idle(scene), true);
  engine.refuses = null;
  await scene.turn();
  assert.equal(idle(scene), false, "it answers, and the job has begun");
});

Deno.test("slots that others hold and moments of another try are waited for", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(1))]);
  const id = scene.submit("a");
  await scene.begin();
  await scene.end(id, "failed", { code: 1, passing: true });
  assert.equal(scene.queue.under_way.size, 0);
  assert.equal(idle(scene), false, "it is tried again in a minute");
  class Shared extends PlainEngine {
    override async capacity() {
      return { ...await super.capacity(), free: cpus(0) };
    }
  }
  const shared = new Scene([new Shared("cluster", cpus(2))]);
  shared.submit("a");
  await shared.turn();
  assert.deepEqual([shared.queue.under_way.size, idle(shared)], [0, false]);
});
