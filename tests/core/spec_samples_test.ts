import assert from "node:assert/strict";
import { chooseSamples, type ChosenSamples, type SamplePool, Sampling } from "../../core/mod.ts";

/** Ten rows in a drawn order; rows 0 to 5 are of group a, 6 to 8 of b, 9 of c. */
const ORDER = [7, 2, 9, 0, 5, 8, 1, 4, 6, 3];
const GROUPS = [..."aaaaaabbbc"];

interface Counts {
  readonly proxy?: number;
  readonly full?: number | null;
}

function pool({ proxy = 3, full = null, ...more }: Partial<SamplePool> & Counts = {}): SamplePool {
  return { task: "t", order: ORDER, groups: null, counts: [proxy, full], ...more };
}

function sampling(fields: Partial<Sampling> = {}): Sampling {
  return Sampling.parse(fields);
}

/** The rows of the first and of the last rung. */
function ends({ task, rungs }: ChosenSamples) {
  return { task, proxy: rungs[0]!, full: rungs.at(-1)! };
}

function only(pool: SamplePool, fields: Partial<Sampling> = {}) {
  return ends(chooseSamples([pool], sampling(fields))[0]!);
}

const sizes = (chosen: ChosenSamples[]) => chosen.map((one) => ends(one).full.length);

Deno.test("without a word on sampling the first rows of the drawn order are taken", () => {
  const [chosen] = chooseSamples([pool({ full: 5 })]);
  assert.deepEqual(chosen, { task: "t", rungs: [[2, 7, 9], [0, 2, 5, 7, 9]] });
  assert.deepEqual(ends(chooseSamples([pool()])[0]!).full, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(ends(chooseSamples([pool({ proxy: 50, full: 50 })])[0]!).proxy.length, 10);
});

Deno.test("a rung of more samples than the next one holds it, and is taken among a later one's", () => {
  for (const groups of [null, GROUPS]) {
    const [chosen] = chooseSamples([{ ...pool({ groups }), counts: [6, 3, 4, 8] }]);
    const [first, second, third, last] = chosen!.rungs.map((rows) => new Set(rows));
    assert.deepEqual(chosen!.rungs.map(({ length }) => length), [6, 3, 4, 8]);
    assert.ok(second!.isSubsetOf(third!) && third!.isSubsetOf(first!) && first!.isSubsetOf(last!));
  }
  const [without] = chooseSamples([{ ...pool(), counts: [0, 3, null] }]);
  assert.deepEqual(without!.rungs.map(({ length }) => length), [0, 3, 10]);
});

Deno.test("stratified gives groups equal shares; what a small one lacks goes to the others", () => {
  const { full, proxy } = only(pool({ groups: GROUPS, full: 7 }));
  // c has one row, so that a and b give three each, drawn: 2 0 5 of a, all of b.
  assert.deepEqual(full, [0, 2, 5, 6, 7, 8, 9]);
  assert.deepEqual(proxy, [2, 7, 9]);
});

Deno.test("random draws from all rows alike, sequential takes the first", () => {
  const grouped = pool({ groups: GROUPS, full: 4 });
  assert.deepEqual(only(grouped, { strategy: "random" }).full, [0, 2, 7, 9]);
  const first = only(grouped, { strategy: "sequential" });
  assert.deepEqual(first, { task: "t", proxy: [0, 1, 2], full: [0, 1, 2, 3] });
});

Deno.test("shuffle: false takes the first rows of each group", () => {
  const { full } = only(pool({ groups: GROUPS, full: 5 }), { shuffle: false });
  assert.deepEqual(full, [0, 1, 6, 7, 9]);
});

Deno.test("limit_per_task limits each group, or a task that has none", () => {
  assert.deepEqual(only(pool({ groups: GROUPS }), { limit_per_task: 2 }).full, [0, 2, 7, 8, 9]);
  assert.deepEqual(only(pool(), { limit_per_task: 2 }).full, [2, 7]);
});

Deno.test("total_limit is shared by the tasks as the strategy says", () => {
  const small = pool({ task: "small", order: [1, 0], full: null });
  const large = pool({ task: "large", order: Array.from({ length: 90 }, (_, i) => 89 - i) });
  const pools = [small, pool(), large];
  const share = (strategy: Sampling["strategy"], total_limit: number) =>
    sizes(chooseSamples(pools, sampling({ strategy, total_limit })));
  assert.deepEqual(share("stratified", 30), [2, 10, 18]);
  assert.deepEqual(share("stratified", 10), [2, 4, 4]);
  // 51 of 102: 1, 5 and 45; 52: 1.02, 5.10 and 45.88, the largest fraction is rounded up.
  assert.deepEqual(share("random", 51), [1, 5, 45]);
  assert.deepEqual(share("random", 52), [1, 5, 46]);
  assert.deepEqual(share("sequential", 20), [2, 10, 8]);
  assert.deepEqual(share("random", 500), [2, 10, 90]);
});

Deno.test("a task for which no sample is left is refused by name", () => {
  const pools = [pool({ task: "first" }), pool({ task: "second" })];
  assert.throws(
    () => chooseSamples(pools, sampling({ strategy: "sequential", total_limit: 10 })),
    /Cannot evaluate second as no sample is left for it: total_limit is 10 for 2 tasks/,
  );
});

Deno.test("the proxy lies among the full samples, whatever the strategy and the limits", () => {
  for (const strategy of ["stratified", "random", "sequential"] as const) {
    for (const total_limit of [2, 5, 9, 30]) {
      for (const shuffle of [true, false]) {
        const pools = [pool({ groups: GROUPS, full: 8 }), pool({ task: "u" })];
        const fields = sampling({ strategy, total_limit: total_limit + 8, shuffle });
        const chosen = chooseSamples(pools, fields);
        for (const { proxy, full } of chosen.map(ends)) {
          assert.ok(proxy.every((row) => full.includes(row)));
          assert.equal(new Set(full).size, full.length);
          assert.equal(proxy.length, Math.min(3, full.length));
        }
        assert.ok(sizes(chosen).reduce((a, b) => a + b) <= total_limit + 8);
      }
    }
  }
});

Deno.test("a rung between lies in the next one and holds the one before, which it does not change", () => {
  for (const strategy of ["stratified", "random", "sequential"] as const) {
    for (const shuffle of [true, false]) {
      const asked = { groups: GROUPS, counts: [2, 4, 7, null] };
      const fields = sampling({ strategy, shuffle });
      const [{ rungs }] = chooseSamples([pool(asked)], fields) as [ChosenSamples];
      assert.deepEqual(rungs.map((rows) => rows.length), [2, 4, 7, 10]);
      for (const [i, rows] of rungs.entries()) {
        const above = rungs[i + 1] ?? rows;
        assert.ok(rows.every((row) => above.includes(row)), `${strategy}, rung ${i}`);
      }
      const [two] = chooseSamples([pool({ ...asked, counts: [2, null] })], fields);
      assert.deepEqual(two!.rungs[0], rungs[0], "the proxy is the same without rungs between");
    }
  }
});

Deno.test("total_limit leaves no rung more than the last one has", () => {
  const pools = [pool({ counts: [3, 6, null] }), pool({ task: "u", counts: [3, 6, null] })];
  const chosen = chooseSamples(pools, sampling({ total_limit: 8 }));
  const lengths = chosen.map(({ rungs }) => rungs.map((rows) => rows.length));
  assert.deepEqual(lengths, [[3, 4, 4], [3, 4, 4]]);
});
