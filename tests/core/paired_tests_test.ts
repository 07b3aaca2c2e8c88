import assert from "node:assert/strict";
import { type Pair, pairedBootstrap, pairedT, streamRandom } from "../../core/mod.ts";

const pairs = (scores: number[], references: number[]): Pair[] =>
  scores.map((score, i) => ({ sample_hash: `${i}`, score, reference: references[i]! }));

const OURS = [0, 1, 1, 0, 1, 0.5, 0.25, 1, 0, 1];
const THEIRS = [0, 0, 1, 0, 0, 0.5, 0.75, 0, 0, 1];

Deno.test("the paired t-test is SciPy's, of few pairs too", () => {
  // scipy.stats.ttest_rel of SciPy 1.17
  const near = (value: number | null, wanted: number) =>
    assert.ok(Math.abs(value! - wanted) < 1e-9, `${value}`);
  near(pairedT(pairs(OURS, THEIRS)), 0.1772677025056083);
  near(pairedT(pairs(THEIRS, OURS)), 0.1772677025056083);
  near(pairedT(pairs([1.2, 3.4, 2.2], [1, 3.1, 2.6])), 0.8927887465162206);
  assert.equal(pairedT(pairs([1], [0])), null);
  assert.equal(pairedT(pairs([1, 1], [1, 1])), 1);
  assert.equal(pairedT(pairs([1, 1], [0, 0])), 0);
});

Deno.test("the paired bootstrap is that of NumPy's draws, never 0, and the same of a seed", () => {
  const found = pairedBootstrap(pairs(OURS, THEIRS), streamRandom(1, "one"))!;
  assert.ok(Math.abs(found - 0.1717) < 0.015, `${found}`); // 200,000 draws in NumPy
  assert.equal(found, pairedBootstrap(pairs(OURS, THEIRS), streamRandom(1, "one")));
  const surely = pairedBootstrap(pairs([1, 1, 1], [0, 0, 0]), streamRandom(1, "one"))!;
  assert.ok(surely > 0 && surely < 0.001);
  assert.equal(pairedBootstrap(pairs([1, 1], [1, 1]), streamRandom(1, "one")), 1);
  assert.equal(pairedBootstrap(pairs([1], [0]), streamRandom(1, "one")), null);
});
