import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { studyClock } from "../../../tracker/lab/runner/study_clock.ts";

Deno.test("studyClock() ends the backend's work after its time, unless it is cleared", async () => {
  const late = new AbortController();
  const clock = studyClock(late);
  const before = clock.now();
  clock.endAfter!(20);
  await new Promise((resolve) => late.signal.addEventListener("abort", resolve));
  assert.ok(clock.now() - before >= 15, `${clock.now() - before} ms`);
  const early = new AbortController();
  studyClock(early).endAfter!(20).clear();
  await sleep(60);
  assert.equal(early.signal.aborted, false);
});
