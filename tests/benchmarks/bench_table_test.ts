import assert from "node:assert/strict";
import { benchTable, isMet, median, withUnit } from "./bench_table.ts";

Deno.test("benchTable() sets figure, peer, ratio and goal side by side", () => {
  const text = benchTable([
    { what: "first", figure: 20, unit: "ms", peer: 40, goal: { under: 50 }, how: "once" },
    { what: "second", figure: 6, unit: "%", goal: { at_most: 5 }, how: "once" },
    { what: "third", figure: null, unit: "s", peer: 3, how: "twice" },
  ]);
  const [first, second, third] = text.split("\n").slice(2, 5);
  assert.match(first!, /first +20\.0 ms +40\.0 ms +0\.50 +< 50 ms +yes .*\[1\]$/);
  assert.match(second!, /second +6\.00 % +– +– +≤ 5 % +NO .*\[1\]$/);
  assert.match(third!, /third +– +3\.00 s +– +– +– .*\[2\]$/);
  assert.ok(text.endsWith("[1] once\n[2] twice"));
});

Deno.test("isMet() keeps the border of a goal to its word", () => {
  assert.equal(isMet({ figure: 50, goal: { under: 50 } }), false);
  assert.equal(isMet({ figure: 5, goal: { at_most: 5 } }), true);
  assert.equal(isMet({ figure: null, goal: { at_most: 5 } }), null);
  assert.equal(isMet({ figure: 5 }), null);
});

Deno.test("withUnit() shows three figures that count", () => {
  assert.equal(withUnit(123.4, "s"), "123 s");
  assert.equal(withUnit(12.34, "ms"), "12.3 ms");
  assert.equal(withUnit(1.234, "%"), "1.23 %");
  assert.equal(withUnit(undefined, "s"), "–");
});

Deno.test("median() takes the middle of odd and even numbers of values", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});
