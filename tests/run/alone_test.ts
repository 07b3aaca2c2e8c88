import assert from "node:assert/strict";
import { onceMoreAlone } from "./alone.ts";
import type { Ended, Job } from "./lanes.ts";

function job(name: string, fails: boolean): Job {
  const run = () =>
    Promise.resolve({ counts: { passed: 3, failed: fails ? 1 : 0 }, output: `again ${name}` });
  return { name, seconds: 1, run };
}

function first(name: string, failed: number, seconds = 1): Ended {
  const output = failed > 0 ? `adds => ./tests/${name}_test.ts:3:6` : "fine";
  return { name, seconds, output, counts: { passed: 3 - failed, failed } };
}

Deno.test("a part that failed beside others is run alone: it passes and is named, or has failed", async () => {
  const jobs = [job("fine", true), job("race", false), job("broken", true)];
  const told: string[] = [];
  const { ended, unsteady } = await onceMoreAlone(
    jobs,
    [first("fine", 0), first("race", 1), first("broken", 1)],
    ({ output }) => told.push(output),
  );
  assert.deepEqual(told, ["again race", "again broken"]);
  assert.deepEqual(ended.map(({ counts }) => counts.failed), [0, 0, 1]);
  assert.deepEqual(unsteady, [
    "unsteady (passed when run alone, look at it): adds => ./tests/race_test.ts:3:6",
  ]);
});

Deno.test("many failures, a check of the files and a part of many minutes are not run again", async () => {
  const never = () => assert.fail("was run again");
  for (
    const failed of [
      ["a", "b", "c", "d"].map((name) => first(name, 1)),
      [first("types", 1)],
      [first("long", 1, 601)],
    ]
  ) {
    const jobs = failed.map(({ name }) => job(name, false));
    const { ended, unsteady } = await onceMoreAlone(jobs, failed, never);
    assert.deepEqual([ended, unsteady], [failed, []]);
  }
  const late = [first("a", 1, 61)];
  const { ended } = await onceMoreAlone([job("a", false)], late, never, 60);
  assert.deepEqual(ended, late);
});
