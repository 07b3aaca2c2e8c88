/** What becomes of an attempt that its engine took, where the answer was lost. */
import assert from "node:assert/strict";
import { EngineError } from "../../../core/jobs/engine.ts";
import { cpus, PlainEngine, Scene } from "./scene.ts";

/** Each submission is taken, and its answer lost, until what this gives is called. */
function loseAnswers(engine: PlainEngine): () => void {
  const submit = engine.submit.bind(engine);
  engine.submit = async (attempt) => {
    await submit(attempt);
    throw new EngineError("down", "connection reset");
  };
  return () => engine.submit = submit;
}

Deno.test("a planned attempt whose answer was lost is found, not submitted again", async () => {
  const scene = new Scene();
  const id = scene.submit("a");
  const engine = scene.engines[0]!;
  const hears = loseAnswers(engine);
  await scene.turn();
  assert.equal(scene.job(id).attempts[0]!.handle, null);
  hears();
  await scene.turn(1);
  assert.equal(scene.job(id).attempts[0]!.handle, "pare-1f2e3d4c-exp-001-1");
  assert.equal(engine.calls.filter((call) => call.startsWith("submit")).length, 1);
});

Deno.test("an attempt that began, though its answer was lost, gets its name and can be stopped", async () => {
  const scene = new Scene([new PlainEngine("local", cpus(1))]);
  const engine = scene.engines[0]!;
  loseAnswers(engine);
  const id = scene.submit("a", { priority: "P2" });
  await scene.turn();
  scene.folder(id, { lease: "fresh" });
  scene.submit("urgent", { priority: "P0" });
  await scene.turn();
  await scene.turn();
  assert.ok(engine.calls.includes("save pare-1f2e3d4c-exp-001-1"));
});

Deno.test("an attempt that is gone, and whose answer was lost, is found on its engine and ended there", async () => {
  const scene = new Scene();
  const engine = scene.engines[0]!;
  const hears = loseAnswers(engine);
  const id = scene.submit("a");
  await scene.turn();
  hears();
  scene.folder(id, { lease: "stale" });
  await scene.turn();
  assert.ok(engine.calls.includes("cancel pare-1f2e3d4c-exp-001-1"));
  assert.equal(scene.queue.left_behind.size, 0);
});

Deno.test("of two attempts whose answers were lost the one that is gone is ended, not the one that works", async () => {
  const scene = new Scene();
  const engine = scene.engines[0]!;
  const hears = loseAnswers(engine);
  const id = scene.submit("a");
  await scene.turn();
  scene.folder(id, { lease: "stale" });
  await scene.turn();
  await scene.turn(61);
  scene.folder(id, { lease: "fresh" });
  hears();
  for (let n = 0; n < 3; n++) await scene.turn();
  assert.deepEqual(scene.job(id).attempts.map(({ handle }) => handle), [
    null,
    "pare-1f2e3d4c-exp-001-2",
  ]);
  assert.deepEqual(engine.calls.filter((call) => call.startsWith("cancel")), [
    "cancel pare-1f2e3d4c-exp-001-1",
  ]);
  assert.equal(scene.queue.left_behind.size, 0);
});
