/** When an attempt began and ended: its own moments, not those of whoever writes them down. */
import assert from "node:assert/strict";
import { Scene } from "./scene.ts";

Deno.test("an attempt began and ended when its folder says, whenever a driver comes to write it down", async () => {
  const scene = new Scene();
  const [a, b, c] = [scene.submit("a"), scene.submit("b"), scene.submit("c")];
  await scene.turn();
  const planned = scene.now;
  const result = { how: "done", code: 0, reason: "done", seconds: 5, passing: false } as const;
  const own = { began: planned + 1000, ended: planned + 6000 };
  scene.folder(a, { result, lease: "stale", ...own });
  // A machine whose clock is an hour behind, and one whose clock is an hour ahead.
  scene.folder(b, { result, lease: "stale", began: own.began - 3.6e6, ended: own.ended - 3.6e6 });
  scene.folder(c, { lease: "stale", began: own.began, ended: own.ended + 3.6e6 });
  await scene.turn(600);
  const times = [a, b, c].map((id) => scene.job(id).attempts[0]!)
    .map(({ began, ended }) => [began, ended].map((at) => at === null ? null : at - planned));
  assert.deepEqual(times, [[1000, 6000], [0, 0], [null, 600_000]]);
  const lost = scene.submit("lost");
  await scene.begin();
  const last_alive = scene.now + 20_000;
  scene.folder(lost, { lease: "stale", began: scene.now, ended: last_alive });
  await scene.turn(600);
  const { how, ended, seconds } = scene.job(lost).attempts[0]!;
  assert.deepEqual([how, ended, seconds], ["lost", last_alive, 20]);
});
