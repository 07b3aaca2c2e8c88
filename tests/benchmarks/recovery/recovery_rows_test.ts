import assert from "node:assert/strict";
import { recipes, uncut } from "./recipes.ts";
import {
  meanKl,
  type Measured,
  recoveryRows,
  recoveryTable,
  withRows,
  wonBack,
} from "./recovery_rows.ts";

Deno.test("every cut is there alone, what is recovered after both recoveries, each recipe once", () => {
  const all = recipes({ lora: 30, distill: 20 });
  const keys = all.map(({ actions }) => JSON.stringify(actions));
  assert.equal(new Set(keys).size, keys.length);
  const of = (cut: string) =>
    all.filter((one) => one.cut === cut && one.rounding === null).map(({ recovery }) => recovery);
  assert.deepEqual(of("2:4, wanda"), ["none"]);
  for (const cut of ["2:4, sparsegpt", "30 % of MLP channels", "4 blocks"]) {
    assert.deepEqual(of(cut), ["none", "lora", "distill"]);
  }
  const [, tuned] = all.filter(({ cut }) => cut === "4 blocks");
  assert.deepEqual(tuned!.actions.map(({ method }) => method), ["depth", "lora"]);
  assert.equal(tuned!.actions[1]!.params?.["steps"], 30);
  const rounded = all.filter(({ rounding }) => rounding !== null);
  assert.deepEqual(rounded.map(({ actions }) => actions.length), [1, 3, 3, 1, 3, 3]);
});

Deno.test("wonBack() is the share of the nats that a cut lost, below 0 where the recovery lost more", () => {
  const e = Math.E;
  assert.ok(Math.abs(wonBack(e, e ** 3, e ** 2) - 0.5) < 1e-12);
  assert.ok(Math.abs(wonBack(e, e ** 3, e) - 1) < 1e-12);
  assert.ok(Math.abs(wonBack(e, e ** 2, e ** 3) + 1) < 1e-12);
});

Deno.test("meanKl() has an interval over windows that is never below 0, and none of one window", () => {
  const { mean, low, high } = meanKl([0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3, 0.2]);
  assert.ok(Math.abs(mean - 0.2) < 1e-12);
  // sd 0.0756, standard error 0.0267, t 2.365: 31.6 % either way on the log scale.
  assert.ok(Math.abs(Math.log(high / mean) - 0.316) < 0.001, String(Math.log(high / mean)));
  assert.ok(Math.abs(low * high - mean * mean) < 1e-12);
  assert.ok(meanKl([0.001, 0.5]).low > 0);
  assert.deepEqual(meanKl([0.4]), { mean: 0.4, low: 0.4, high: 0.4 });
});

Deno.test("the table has a line a recipe, and what was not measured as such", () => {
  const none: Measured = {
    state: "failed",
    accuracy: null,
    accuracy_drop: null,
    drop_low: null,
    drop_high: null,
    perplexity: null,
    latency_ratio: null,
    size_bytes: null,
    training_seconds: null,
    kl: null,
  };
  const steps = { lora: 30, distill: 20 };
  const [cut, tuned] = recipes(steps).filter((one) => one.cut === "2 blocks");
  const [alike] = uncut(steps);
  const rows = recoveryRows([
    [cut!, { ...none, state: "completed", perplexity: 80, kl: [0.4, 0.6], size_bytes: 2e8 }],
    [tuned!, {
      ...none,
      perplexity: 40,
      accuracy: 0.5,
      accuracy_drop: 0.1,
      drop_low: 0.05,
      drop_high: 0.15,
      training_seconds: 90,
    }],
    [alike!, { ...none, perplexity: 10 }],
  ], 20);
  assert.ok(Math.abs(rows[1]!.won_back! - 0.5) < 1e-12);
  assert.equal(rows[0]!.won_back, null);
  assert.ok(Math.abs(rows[1]!.won_back_alike! - 1 / 3) < 1e-12, "of 80 beside 10");
  assert.equal(rows[2]!.won_back, null, "nothing was cut there");
  const [, , first, second] = recoveryTable(rows).split("\n");
  assert.equal(first, "| 2 blocks |  | 0.5 | 80 |  | – | – | – | 200 |  |");
  assert.equal(
    second,
    "| 2 blocks | lora | – | 40 | 50 % (33 %) | 0.500 | 0.100 (0.050 to 0.150) | – | – | 1.5 |",
  );
});

Deno.test("rows measured again take the kept ones' places and are compared with the kept others", () => {
  const figures = {
    ...{ state: "completed", accuracy: 0.5, accuracy_drop: 0.1, drop_low: 0.1, drop_high: 0.1 },
    ...{ latency_ratio: 1, size_bytes: 2e8, training_seconds: null },
  };
  const of = (perplexity: number): Measured => ({ ...figures, perplexity, kl: [0.4, 0.6] });
  const steps = { lora: 30, distill: 20 };
  const [cut, tuned] = recipes(steps).filter((one) => one.cut === "2 blocks");
  const [alike] = uncut(steps);
  const kept = recoveryRows([[cut!, of(80)], [tuned!, of(60)], [alike!, of(30)]], 40);
  const rows = withRows(kept, [[tuned!, of(50)]], 40);
  assert.deepEqual([rows[0], rows[2], rows.length], [kept[0], kept[2], 3]);
  assert.equal(rows[1]!.won_back, wonBack(40, 80, 50));
  assert.equal(rows[1]!.won_back_alike, wonBack(30, 80, 50));
  const added = recipes(steps).find((one) => one.cut === "4 blocks")!;
  assert.deepEqual(withRows(kept, [[added, of(70)]], 40).slice(0, 3), kept);
});
