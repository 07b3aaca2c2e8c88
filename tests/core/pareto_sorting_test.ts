/** What the sweeps stand on: an order without comparisons by calls, and ranks counted by hand. */
import assert from "node:assert/strict";
import { type Direction, paretoRanks, streamRandom } from "../../core/mod.ts";
import { lexicographicOrder, sortedOrder } from "../../core/front/sorted_order.ts";

Deno.test("keys come out in order, equal ones as they stood, whatever their number", () => {
  for (const count of [0, 1, 2, 11, 12, 13, 24, 25, 100, 1000]) {
    const random = streamRandom(count, "keys");
    const keys = Float64Array.from({ length: count }, () => Math.floor(random() * count / 3));
    const wanted = Array.from(keys.keys()).sort((a, b) => keys[a]! - keys[b]! || a - b);
    assert.deepEqual([...sortedOrder(keys)], wanted);
    assert.deepEqual([...sortedOrder(keys.toSorted())], wanted.map((_, i) => i));
  }
  const odd = Float64Array.from([Infinity, -0, 5, -Infinity, 0]);
  assert.deepEqual([...sortedOrder(odd)], [3, 1, 4, 2, 0]);
});

Deno.test("rows come out by their first value, then by the next where that is equal", () => {
  const random = streamRandom(1, "rows");
  const columns = [0, 1, 2].map(() =>
    Float64Array.from({ length: 200 }, () => Math.floor(random() * 4))
  );
  const wanted = Array.from({ length: 200 }, (_, i) => i).sort((a, b) =>
    columns.map((column) => column[a]! - column[b]!).find((one) => one !== 0) ?? a - b
  );
  assert.deepEqual([...lexicographicOrder(columns)], wanted);
  assert.deepEqual([...lexicographicOrder([])], []);
});

/** Front after front, each by comparing all with all. */
function rankedByHand(points: readonly number[][]): number[] {
  const ranks = points.map(() => -1);
  for (let rank = 0; ranks.includes(-1); rank++) {
    const left = points.flatMap((_, i) => ranks[i] === -1 ? [i] : []);
    const beats = (a: number[], b: number[]) =>
      a.every((x, k) => x <= b[k]!) && a.some((x, k) => x < b[k]!);
    const front = left.filter((i) => !left.some((j) => beats(points[j]!, points[i]!)));
    for (const i of front) ranks[i] = rank;
  }
  return ranks;
}

Deno.test("ranks are those of comparing all with all, for one to six objectives and many ties", () => {
  for (const m of [1, 2, 3, 4, 6]) {
    for (let seed = 0; seed < 30; seed++) {
      const random = streamRandom(seed, `ranks ${m}`);
      const side = seed % 2 === 0 ? 4 : 1000;
      const points = Array.from(
        { length: 1 + seed * 2 },
        () => Array.from({ length: m }, () => Math.floor(random() * side)),
      );
      const down: Direction[] = points[0]!.map(() => "minimize");
      assert.deepEqual(paretoRanks(points, down), rankedByHand(points), `${m}-D, seed ${seed}`);
    }
  }
});
