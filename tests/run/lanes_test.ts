import assert from "node:assert/strict";
import { groupFiles, type Job, runInLanes } from "./lanes.ts";

Deno.test("groupFiles() puts long files first and alone, and every file in one group", () => {
  const files = ["d", "a", "c", "b", "e"];
  assert.deepEqual(groupFiles(files, ["c", "gone"], 3), [["c"], ["a", "b", "d"], ["e"]]);
  assert.deepEqual(groupFiles([], ["c"], 3), []);
});

Deno.test("runInLanes() runs every job once, in order, never more at a time than lanes", async () => {
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const jobs = Array.from({ length: 7 }, (_, n): Job => ({
    name: String(n),
    async run() {
      begun.push(n);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, n % 3));
      running--;
      return { counts: { passed: n, failed: 1 }, output: `said ${n}` };
    },
  }));
  const told: string[] = [];
  const all = await runInLanes(jobs, 2, ({ name, output }) => told.push(`${name} ${output}`));
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(most, 2);
  assert.equal(all.reduce((sum, { passed }) => sum + passed, 0), 21);
  assert.deepEqual(told.sort(), begun.map((n) => `${n} said ${n}`));
});
