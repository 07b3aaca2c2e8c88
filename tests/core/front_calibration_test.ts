/** What P(front) says is true about as often, in simulated studies whose front is known. */
import assert from "node:assert/strict";
import { judgements, LAYOUTS } from "./front_layouts.ts";

/** Of the trials that are measured to be on the front: the mean of what is said, and the share that is. */
function measuredFront(name: string, studies: number) {
  const layout = LAYOUTS.find((one) => one.name === name)!;
  const all = [...judgements(layout, studies, { resamples: 150 })].filter((one) => one.measured);
  return {
    said: all.reduce((sum, { said }) => sum + said, 0) / all.length,
    true: all.filter(({ on }) => on).length / all.length,
  };
}

Deno.test("among near ties a measured front is said to be about as much the true one as it is", () => {
  const found = measuredFront("twenty near ties", 60);
  assert.ok(found.true < 0.6, `${found.true}: of near ties many a member is there by luck`);
  assert.ok(Math.abs(found.said - found.true) < 0.13, JSON.stringify(found));
});

Deno.test("where quality follows size a measured front is not doubted more than it deserves", () => {
  const found = measuredFront("quality follows size", 40);
  assert.ok(found.true > 0.8, `${found.true}`);
  assert.ok(Math.abs(found.said - found.true) < 0.09, JSON.stringify(found));
});
