import assert from "node:assert/strict";
import type { Job } from "./lanes.ts";
import { begunWithin, inTurn, minutesOfRun, secondsLeft } from "./limit.ts";

Deno.test("minutesOfRun() is a number above 0 or no limit, and anything else is refused", () => {
  assert.equal(minutesOfRun("65"), 65);
  assert.equal(minutesOfRun(""), null);
  assert.throws(() => minutesOfRun("soon"), /PARE_RUN_MINUTES="soon": say a number above 0/);
  assert.throws(() => minutesOfRun("0"), /above 0/);
  assert.equal(secondsLeft(90 * 60, 55), 0);
  assert.deepEqual([secondsLeft(60, 55), secondsLeft(60, null)], [76 * 60, Infinity]);
});

Deno.test("begunWithin() runs what begins in time, and counts the rest as left out, with the reason", async () => {
  let now = 100;
  let runs = 0;
  const slow: Job = {
    ...{ name: "tests/long/a.ts", seconds: 10 },
    run: () => Promise.resolve({ counts: { passed: ++runs, failed: 0 }, output: "ran" }),
  };
  const [job] = begunWithin([slow], 60, () => now);
  now = 160;
  assert.deepEqual((await job!.run()).counts, { passed: 1, failed: 0 });
  now = 161;
  const late = await job!.run();
  assert.equal(runs, 1);
  assert.match(late.output, /^NOT RUN: tests\/long\/a\.ts: 1 minutes were over/);
  assert.deepEqual(late.counts.skipped?.map(({ count }) => count), [1]);
  assert.equal(late.counts.failed, 0);
});

Deno.test("inTurn() keeps every job, and within a week each has been among the first third", () => {
  const names = Array.from({ length: 45 }, (_, n) => `tests/long/${String(n).padStart(2, "0")}.ts`);
  const jobs = names.map((name): Job => ({
    ...{ name, seconds: 1 },
    run: () => Promise.reject(new Error("was run")),
  }));
  const first = new Set<string>();
  for (let day = 20_000; day < 20_007; day++) {
    const order = inTurn(jobs, day).map(({ name }) => name);
    assert.deepEqual(order.toSorted(), names);
    for (const name of order.slice(0, 15)) first.add(name);
  }
  assert.equal(first.size, names.length);
});
