import assert from "node:assert/strict";
import {
  choice,
  flag,
  integer,
  knobCombinations,
  knobNeighbours,
  randomKnobValue,
  real,
  resolvedSchema,
  seededRandom,
  withoutDefaults,
} from "../../core/mod.ts";

const bits = choice([2, 3, 4, 8], { default: 4, unit: "bits", description: "a weight" });
const on = flag({ default: true, description: "on" });
const steps = integer({
  minimum: 8,
  maximum: 200,
  default: 20,
  unit: "steps",
  description: "taken",
});
const ratio = real({ minimum: 0.1, maximum: 0.9, default: 0.5, unit: "1", description: "kept" });
const rate = real({
  minimum: 1e-5,
  maximum: 1e-1,
  default: 1e-3,
  unit: "1",
  description: "learnt",
  log: true,
});

Deno.test("knobNeighbours() takes the next choices, the other side, a step of the range", () => {
  assert.deepEqual(knobNeighbours(bits, 4), [3, 8]);
  assert.deepEqual(knobNeighbours(bits, 2), [3]);
  assert.deepEqual(knobNeighbours(on, true), [false]);
  assert.deepEqual(knobNeighbours(steps, 32), [8, 56]);
  assert.deepEqual(knobNeighbours(ratio, 0.5), [0.4, 0.6]);
  assert.deepEqual(knobNeighbours(rate, 0.001), [0.0005, 0.002]);
});

Deno.test("knobNeighbours() stays inside the range and never returns the value itself", () => {
  assert.deepEqual(knobNeighbours(steps, 200), [176]);
  assert.deepEqual(knobNeighbours(steps, 195), [171, 200]);
  assert.deepEqual(knobNeighbours(rate, 1e-5), [2e-5]);
});

Deno.test("randomKnobValue() draws values that the knob takes, and every choice in time", () => {
  const random = seededRandom(7);
  for (const knob of [bits, on, steps, ratio, rate]) {
    const schema = resolvedSchema({ knob });
    for (let i = 0; i < 200; i++) schema.parse({ knob: randomKnobValue(knob, random) });
  }
  const drawn = new Set(Array.from({ length: 100 }, () => randomKnobValue(bits, random)));
  assert.equal(drawn.size, 4);
});

Deno.test("randomKnobValue() spreads a logarithmic range over its powers of ten", () => {
  const random = seededRandom(1);
  const drawn = Array.from({ length: 1000 }, () => Number(randomKnobValue(rate, random)));
  const small = drawn.filter((value) => value < 1e-3).length;
  assert.ok(small > 430 && small < 570, `${small} of 1000 below the middle`);
});

Deno.test("knobCombinations() begins with the defaults and misses none", () => {
  const all = [...knobCombinations([["bits", bits], ["on", on], ["steps", steps]])];
  assert.deepEqual(all[0], { bits: 4, on: true, steps: 20 });
  assert.equal(all.length, 4 * 2 * 3);
  assert.equal(new Set(all.map((one) => JSON.stringify(one))).size, 24);
  assert.deepEqual([...knobCombinations([])], [{}]);
});

Deno.test("withoutDefaults() keeps what a recipe has to write down", () => {
  assert.deepEqual(withoutDefaults({ bits, on }, { bits: 4, on: false }), { on: false });
});
