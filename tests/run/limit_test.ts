import assert from "node:assert/strict";
import type { Job } from "./lanes.ts";
import { begunWithin, minutesOfRun } from "./limit.ts";

Deno.test("minutesOfRun() is a number above 0 or no limit, and anything else is refused", () => {
  assert.equal(minutesOfRun("65"), 65);
  assert.equal(minutesOfRun(""), null);
  assert.throws(() => minutesOfRun("soon"), /PARE_RUN_MINUTES="soon": say a number above 0/);
  assert.throws(() => minutesOfRun("0"), /above 0/);
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
