import assert from "node:assert/strict";
import { budgetLines, budgetOf } from "./budgets.ts";
import { evenParts, groupFiles, secondsOf, type TestFile } from "./groups.ts";
import { type Job, longestFirst, runInLanes } from "./lanes.ts";

function file(path: string, seconds: number, needs: string[] = []): TestFile {
  return { path, seconds, needs };
}

const paths = (groups: TestFile[][]) => groups.map((group) => group.map(({ path }) => path));

Deno.test("groupFiles() leaves long files alone and joins short neighbours of the same needs", () => {
  const files = [file("d", 1), file("a", 1), file("c", 300), file("b", 2), file("e", 1, ["x"])];
  assert.deepEqual(paths(groupFiles(files)), [["a", "b", "d"], ["c"], ["e"]]);
  const many = Array.from({ length: 30 }, (_, n) => file(String(n).padStart(2, "0"), 9));
  const groups = groupFiles(many);
  assert.deepEqual(groups.flat().map(({ path }) => path).sort(), many.map(({ path }) => path));
  assert.ok(groups.every((group) => secondsOf(group) <= 40), JSON.stringify(groups));
  assert.deepEqual(groupFiles([]), []);
});

Deno.test("evenParts() shares files by their seconds, each once, and makes no empty part", () => {
  const files = [file("a", 5), file("b", 1), file("c", 3), file("d", 1)];
  assert.deepEqual(paths(evenParts(files, 2)), [["a"], ["b", "c", "d"]]);
  assert.deepEqual(paths(evenParts(files.slice(0, 1), 2)), [["a"]]);
});

function job(n: number, run: () => Promise<void>, after?: Promise<void>): Job {
  return {
    ...{ name: String(n), seconds: n },
    ...(after === undefined ? {} : { after }),
    async run() {
      await run();
      return { counts: { passed: n, failed: 1 }, output: `said ${n}` };
    },
  };
}

Deno.test("runInLanes() runs every job once, in order, never more at a time than lanes", async () => {
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const jobs = Array.from({ length: 7 }, (_, n) =>
    job(n, async () => {
      begun.push(n);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, n % 3));
      running--;
    }));
  const told: string[] = [];
  const all = await runInLanes(jobs, 2, ({ name, output }) => told.push(`${name} ${output}`));
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(most, 2);
  assert.equal(all.reduce((sum, { passed }) => sum + passed, 0), 21);
  assert.deepEqual(told.sort(), begun.map((n) => `${n} said ${n}`));
});

Deno.test("runInLanes() begins what is ready, and what waits when its needs are there", async () => {
  const begun: number[] = [];
  const { promise: made, resolve } = Promise.withResolvers<void>();
  const waits = job(1, () => Promise.resolve(void begun.push(1)), made);
  const makes = job(2, () => Promise.resolve(begun.push(2)).then(() => resolve()));
  await runInLanes([waits, makes], 2, () => {});
  assert.deepEqual(begun, [2, 1]);
});

Deno.test("runInLanes() has one lane more for what sleeps, and that lane alone has it", async () => {
  let [running, most, sleeping] = [0, 0, 0];
  const jobs = Array.from({ length: 12 }, (_, n): Job => {
    const waits = n % 2 === 0;
    const run = async () => {
      most = Math.max(most, ++running);
      if (waits) assert.equal(++sleeping, 1, "one at a time");
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (waits) sleeping--;
      running--;
    };
    return { ...job(n, run), waits };
  });
  const counts = await runInLanes(jobs, 2, () => {});
  assert.equal(counts.length, 12);
  assert.equal(most, 3);
});

Deno.test("runInLanes() fails a job whose needs cannot be had, and says why", async () => {
  const told: string[] = [];
  const cannot = job(1, () => Promise.reject(new Error("was run")), Promise.reject("no network"));
  const counts = await runInLanes([cannot], 2, ({ output }) => told.push(output));
  assert.deepEqual(counts, [{ passed: 0, failed: 1 }]);
  assert.deepEqual(told, ["FAILED: 1: no network"]);
});

Deno.test("budgetLines() names each job with its budget, the longest first, and what is over", () => {
  const jobs = longestFirst([job(10, () => Promise.resolve()), job(100, () => Promise.resolve())]);
  assert.deepEqual(jobs.map(({ seconds }) => seconds), [100, 10]);
  const ended = (name: string, seconds: number) => ({
    ...{ name, seconds, output: "", counts: { passed: 1, failed: 0 } },
  });
  assert.deepEqual([budgetOf(jobs[0]!), budgetOf(jobs[1]!)], [165, 30]);
  const lines = budgetLines("test", jobs, [ended("10", 31), ended("100", 165)], 60);
  assert.deepEqual(lines, [
    "   165 s of  165 s  100",
    "    31 s of   30 s  10  OVER BUDGET by 1 s",
    "    60 s of  720 s  the whole run, test",
  ]);
});
