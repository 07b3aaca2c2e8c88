/** Prediction-powered estimates, by simulation against the formulas' widths and their coverage. */
import assert from "node:assert/strict";
import { LEAST_RHO, type PartlyScored, predictionPowered, seededRandom } from "../../core/mod.ts";

const random = seededRandom(20261122);

function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A benchmark whose differences go with a predictor of an unknown scale by a correlation of rho. */
function benchmark(n: number, population: number, rho: number, drop = 0.1) {
  const all = Array.from({ length: population }, () => {
    const common = normal();
    const difference = drop + rho * common + Math.sqrt(1 - rho ** 2) * normal();
    return { difference, predictor: 40 - 3 * common }; // larger likelihood: smaller drop
  });
  const scored = all.slice(0, n); // all are drawn alike: the first are a random sample
  const truth = all.reduce((sum, one) => sum + one.difference, 0) / population;
  return { part: { scored, others: all.slice(n).map(({ predictor }) => predictor) }, truth };
}

/** Right-or-wrong answers: a share turns wrong, the more likely where the likelihood fell. */
function answers(n: number, population: number) {
  const all = Array.from({ length: population }, () => {
    const fall = random();
    const difference = random() < 0.8 * fall ** 3 ? 1 : random() < 0.04 ? -1 : 0;
    return { difference, predictor: -7 * fall };
  });
  const truth = all.reduce((sum, one) => sum + one.difference, 0) / population;
  return {
    part: { scored: all.slice(0, n), others: all.slice(n).map(({ predictor }) => predictor) },
    truth,
  };
}

function repeat(studies: number, make: () => { part: PartlyScored; truth: number }) {
  let [covered, width, plain, bias] = [0, 0, 0, 0];
  for (let study = 0; study < studies; study++) {
    const { part, truth } = make();
    const { drop, interval: [low, high], standard_error } = predictionPowered(part)!;
    if (low <= truth && truth <= high) covered++;
    width += standard_error;
    bias += drop - truth;
    const d = part.scored.map(({ difference }) => difference);
    const m = d.reduce((sum, x) => sum + x, 0) / d.length;
    const variance = d.reduce((sum, x) => sum + (x - m) ** 2, 0) / (d.length - 1);
    const population = d.length + part.others.length;
    plain += Math.sqrt((1 - d.length / population) * variance / d.length);
  }
  return { covered: covered / studies, ratio: width / plain, bias: bias / studies };
}

Deno.test("the interval is as much narrower as the formula says, covers, and has no bias", () => {
  for (const rho of [0.5, 0.7, 0.9]) {
    const { covered, ratio, bias } = repeat(300, () => benchmark(200, 2000, rho));
    const wanted = Math.sqrt(1 - rho ** 2); // at the best λ, of a finite benchmark
    assert.ok(Math.abs(ratio - wanted) < 0.03, `${rho}: ${ratio}, not ${wanted}`);
    assert.ok(covered > 0.915, `${rho}: ${covered}`);
    assert.ok(Math.abs(bias) < 0.02, `${rho}: ${bias}`);
  }
});

Deno.test("of right-or-wrong answers it covers too", () => {
  const { covered, ratio, bias } = repeat(300, () => answers(200, 2000));
  assert.ok(covered > 0.915, String(covered));
  assert.ok(ratio < 0.93, String(ratio));
  assert.ok(Math.abs(bias) < 0.006, String(bias));
});

Deno.test("where the predictor says little it falls back to the plain mean, and says so", () => {
  const found = predictionPowered(benchmark(200, 2000, 0).part)!;
  assert.equal(found.lambda, 0);
  assert.match(found.fallback!, new RegExp(`correlation .* below ${LEAST_RHO}$`));
  const mean = benchmark(200, 2000, 0);
  const d = mean.part.scored.map(({ difference }) => difference);
  const own = predictionPowered(mean.part)!;
  assert.ok(Math.abs(own.drop - d.reduce((sum, x) => sum + x, 0) / 200) < 1e-12);
});

Deno.test("a small benchmark, few flips and few samples fall back, each with its reason", () => {
  assert.match(
    predictionPowered(benchmark(200, 500, 0.9).part)!.fallback!,
    /^300 samples are not scored, fewer/,
  );
  const few = answers(200, 2000).part;
  const quiet = few.scored.map((one, i) => ({ ...one, difference: i < 19 ? 1 : 0 }));
  assert.match(
    predictionPowered({ ...few, scored: quiet })!.fallback!,
    /^19 of the scored answers turned, fewer than 20$/,
  );
  assert.equal(predictionPowered({ scored: few.scored.slice(0, 9), others: [1, 2] }), null);
});

Deno.test("a predictor that is the same for all, and one that points the other way, are harmless", () => {
  const { part } = benchmark(200, 2000, 0.9);
  const flat = predictionPowered({
    scored: part.scored.map((one) => ({ ...one, predictor: 1 })),
    others: part.others.map(() => 1),
  })!;
  assert.equal(flat.lambda, 0);
  assert.ok(Number.isFinite(flat.standard_error));
  const turned = predictionPowered({
    scored: part.scored.map((one) => ({ ...one, predictor: -one.predictor })),
    others: part.others.map((predictor) => -predictor),
  })!;
  const own = predictionPowered(part)!;
  assert.ok(Math.abs(turned.drop - own.drop) < 1e-9 && Math.abs(turned.rho - own.rho) < 1e-9);
});

Deno.test("a benchmark that is scored whole has no error left", () => {
  const { part, truth } = benchmark(200, 200, 0.5);
  const found = predictionPowered(part)!;
  assert.equal(found.standard_error, 0);
  assert.ok(Math.abs(found.drop - truth) < 1e-12);
});
