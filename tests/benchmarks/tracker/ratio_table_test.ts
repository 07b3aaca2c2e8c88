import assert from "node:assert/strict";
import { type RatioRow, ratioTable, reaches, timesBetter } from "./ratio_table.ts";

const rate: RatioRow = {
  what: "logging",
  ours: 800_000,
  unit: "points/s",
  peer: { name: "MLflow", figure: 8_000 },
  goal: { times: 100 },
};
const time: RatioRow = { ...rate, ours: 0.5, unit: "ms", peer: { name: "MLflow", figure: 20 } };

Deno.test("timesBetter() is above 1 for more points a second and for less time", () => {
  assert.equal(timesBetter(rate), 100);
  assert.equal(timesBetter(time), 40);
  assert.equal(timesBetter({ ...time, peer: null }), null);
});

Deno.test("reaches() compares the ratio or the figure itself with the goal", () => {
  assert.equal(reaches(rate), true);
  assert.equal(reaches({ ...rate, ours: 799_999 }), false);
  assert.equal(reaches({ ...time, goal: { under: 0.5 } }), false);
  assert.equal(reaches({ ...time, goal: { under: 0.51 } }), true);
  assert.equal(reaches({ ...time, peer: null }), false);
  assert.equal(reaches({ ...time, goal: null }), null);
});

Deno.test("ratioTable() prints both figures, the ratio, the goal and whether it is met", () => {
  const lines = ratioTable([rate, { ...time, goal: { under: 0.1 } }]).split("\n");
  assert.match(
    lines[2]!,
    /logging\s+800,000 points\/s\s+8,000 points\/s\s+MLflow\s+100×\s+≥ 100×\s+yes/,
  );
  assert.match(lines[3]!, /0\.50 ms\s+20\.0 ms\s+MLflow\s+40×\s+< 0\.1 ms\s+NO/);
});
