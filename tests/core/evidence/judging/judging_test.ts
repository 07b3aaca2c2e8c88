/** How far a judge can be trusted: agreement, biases, and what labels correct. */
import assert from "node:assert/strict";
import {
  agreementOf,
  cohenKappa,
  krippendorffAlpha,
} from "../../../../core/evidence/judging/agreement.ts";
import {
  lengthBias,
  positionBias,
  selfPreference,
} from "../../../../core/evidence/judging/biases.ts";
import { correctedScore } from "../../../../core/evidence/judging/corrected_score.ts";
import { seededRandom } from "../../../../core/random.ts";

/** Pairs of ratings of a table: rows the first rater's, columns the second's. */
const pairsOf = (table: readonly (readonly number[])[]) =>
  table.flatMap((row, a) =>
    row.flatMap((count, b) => Array.from({ length: count }, () => [a, b] as const))
  );

const near = (value: number | null | undefined, expected: number, by: number) =>
  assert.ok(Math.abs(value! - expected) <= by, `${value}, not ${expected}`);

Deno.test("Cohen's kappa is that of Fleiss, Cohen and Everitt's tables", () => {
  near(cohenKappa(pairsOf([[20, 5], [10, 15]])), 0.4, 1e-12);
  near(cohenKappa(pairsOf([[20, 5], [10, 15]]), "nominal"), 0.4, 1e-12);
  near(cohenKappa(pairsOf([[44, 5, 1], [7, 20, 3], [9, 5, 6]]), "nominal"), 0.491525, 1e-6);
  assert.equal(cohenKappa(pairsOf([[9]])), null, "both say one thing of all");
  assert.equal(cohenKappa(pairsOf([[0, 5], [5, 0]])), -1);
});

Deno.test("Krippendorff's alpha is that of his example, with ratings missing", () => {
  const raters = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
  ];
  const units = raters[0]!.map((_, u) => raters.map((own) => own[u]!).filter((one) => one > 0));
  near(krippendorffAlpha(units, "nominal"), 0.743, 5e-4);
  near(krippendorffAlpha(units, "interval"), 0.849, 5e-4);
  assert.equal(krippendorffAlpha([[1], [2]]), null);
});

Deno.test("agreement has intervals that hold the figure, the same for the same seed", () => {
  const found = agreementOf(pairsOf([[40, 10], [10, 40]]), 1)!;
  assert.deepEqual([found.n, found.same, found.difference.value], [100, 0.8, 0]);
  near(found.kappa!.value, 0.6, 1e-12);
  const [low, high] = found.kappa!.interval!;
  assert.ok(low > 0.4 && low < 0.55 && high > 0.65 && high < 0.8, `${low}, ${high}`);
  assert.deepEqual(agreementOf(pairsOf([[40, 10], [10, 40]]), 1), found);
  assert.equal(agreementOf([[0, 0], [1, 1]], 1)!.kappa!.interval, null, "of two answers none");
  assert.equal(agreementOf([], 1), null);
});

Deno.test("a judge that takes the first answer has a bias of place, one that takes the better none", () => {
  const always = Array.from({ length: 10 }, () => ["first", "first"] as const);
  assert.deepEqual(positionBias(always), { pairs: 10, consistent: 0, bias: 1, p: 2 / 1024 });
  const fair = Array.from({ length: 10 }, () => ["first", "second"] as const);
  assert.deepEqual(positionBias(fair), { pairs: 10, consistent: 1, bias: null, p: null });
  const mixed = [["tie", "tie"], ["second", "second"], ["first", "first"], [
    "tie",
    "first",
  ]] as const;
  assert.deepEqual(positionBias(mixed), { pairs: 4, consistent: 0.25, bias: 0, p: 1 });
});

Deno.test("what length and being its own gain an answer is told apart from what it is worth", () => {
  const random = seededRandom(3);
  const answers = Array.from({ length: 200 }, (_, i) => {
    const [length, worth, own] = [2 ** (4 + i % 6), +(random() < 0.5), i % 2 === 0];
    return { length, own, worth, judged: worth + 0.1 * Math.log2(1 + length) + (own ? 0.2 : 0) };
  });
  near(lengthBias(answers, 1)!.value, 0.1, 0.04);
  const fair = answers.map((one) => ({ ...one, judged: one.worth }));
  assert.equal(lengthBias(fair, 1)!.value, 0);
  assert.equal(lengthBias(answers.map((one) => ({ ...one, length: 9 })), 1), null);
  const { own, others, more } = selfPreference(answers, 1)!;
  near(own.value - others!.value, more!.value, 1e-12);
  assert.ok(more!.interval![0] > 0, "surely more");
  assert.equal(selfPreference(answers.map((one) => ({ ...one, own: false })), 1), null);
  assert.equal(selfPreference(answers.filter((one) => one.own), 1)!.others, null);
});

/** How often the corrected interval holds the mean label of all answers, and its mean width. */
function simulated(wrong: number, share: number, runs: number, n = 100, all = 1000) {
  let held = 0, width = 0;
  for (let run = 0; run < runs; run++) {
    const random = seededRandom(7919 * run + Math.round(1000 * wrong) + Math.round(10 * share));
    const answers = Array.from({ length: all }, () => {
      const label = +(random() < share);
      return { label, judged: random() < wrong ? 1 - label : label };
    });
    const truth = answers.reduce((sum, { label }) => sum + label, 0) / all;
    const found = correctedScore(answers.slice(0, n), answers.slice(n).map((one) => one.judged))!;
    const [low, high] = found.interval;
    held += +(low <= truth && truth <= high);
    width += (high - low) / runs;
  }
  return { held, width };
}

Deno.test("a judge with 0, 10 and 30 % wrong labels: the corrected interval holds the truth", () => {
  for (const [wrong, widest] of [[0, 0.06], [0.1, 0.14], [0.3, 0.2]] as const) {
    const { held, width } = simulated(wrong, 0.6, 300);
    assert.ok(held >= 279, `${wrong}: ${held} of 300`);
    assert.ok(width < widest, `${wrong}: ${width} wide`);
  }
  // Faults that the labels may not show, and answers that are nearly all wrong.
  for (const [wrong, share] of [[0.01, 0.6], [0.03, 0.6], [0.1, 0.03], [0.5, 0.5]] as const) {
    const { held } = simulated(wrong, share, 200);
    assert.ok(held >= 186, `${wrong}, ${share}: ${held} of 200`);
  }
});

Deno.test("a judge that is worth nothing is left out, and the reason is said", () => {
  const labelled = Array.from({ length: 100 }, (_, i) => ({ label: i % 2, judged: (i >> 1) % 2 }));
  const found = correctedScore(labelled, Array.from({ length: 900 }, () => 1))!;
  assert.deepEqual([found.lambda, found.score, found.n, found.answers], [0, 0.5, 100, 1000]);
  assert.match(found.because!, /scores tell too little of the labels \(correlation -?0\.\d\d\)/);
  near(found.judged, 0.95, 1e-12);
  assert.deepEqual(found.interval, found.labels.interval);
  assert.equal(correctedScore(labelled.slice(0, 9), []), null, "too few labels");
});
