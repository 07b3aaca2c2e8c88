/** Before a model is any good: steps by whoever knows what a point's values mean. */
import assert from "node:assert/strict";
import { auto, seededRandom, type SpacePoint } from "../../../core/mod.ts";
import { square, stateOf, tried } from "./problems.ts";

const alone: SpacePoint = { x: 0.5, y: 0.9 };
const many: SpacePoint[] = Array.from({ length: 20 }, (_, i) => ({ x: i / 20, y: 0.1 }));
const front: SpacePoint = { x: 0.5, y: 0.45 };
const seen = [tried(square, front), tried(square, { x: 1, y: 1 })];

Deno.test("the kind of step is drawn first: one that has a single step has its turn as well", () => {
  let single = 0;
  for (let seed = 0; seed < 200; seed++) {
    const { point } = auto(
      stateOf(square, seen, { near: () => [[alone], many], random: seededRandom(seed) }),
    )!;
    assert.ok(point === alone || many.includes(point), "a step, and none drawn");
    single += Number(point === alone);
  }
  assert.ok(single > 70 && single < 130, `${single} of 200: one kind of two`);
});

Deno.test("steps start from what nothing dominates, until eight points are measured", () => {
  const asked: SpacePoint[] = [];
  const near = (point: SpacePoint) => (asked.push(point), [many]);
  for (let seed = 0; seed < 20; seed++) {
    auto(stateOf(square, seen, { near, random: seededRandom(seed) }));
  }
  assert.deepEqual(new Set(asked), new Set([front]));
  const measured = (count: number) => many.slice(0, count).map((point) => tried(square, point));
  const reason = (count: number, more = {}) => auto(stateOf(square, measured(count), more))!.reason;
  // A square has two dimensions: three points are enough for a model of it.
  assert.match(reason(2, { near }), /^few measured: /);
  assert.match(reason(3), /^a model of all that is measured: /);
});
