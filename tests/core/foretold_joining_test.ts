/** A rung that measures no quality foretells it: as surely as its figure went with it, and no more. */
import assert from "node:assert/strict";
import { foretoldJoining, foretoldLosses } from "../../core/front/foretold_joining.ts";
import {
  type Evaluation,
  joinProbability,
  type RungEvidence,
  seededRandom,
  type Spec,
} from "../../core/mod.ts";
import { rival, spec as accuracySpec } from "./front_rivals.ts";
import { figure, run, world } from "./study_world.ts";

const quantileOf = (draw: () => number, share: number, n = 4000) =>
  Array.from({ length: n }, draw).sort((a, b) => a - b)[Math.floor(share * n)]!;

/** Losses that follow the root of a KL, each by some noise. */
const pairs = (noise: number, n = 12) => {
  const random = seededRandom(5);
  return Array.from({ length: n }, (_, i) => {
    const figure = 0.02 * (i + 1);
    return { figure, loss: 0.3 * Math.sqrt(figure) + noise * (random() - 0.5) };
  });
};

Deno.test("losses lie about the line through the trials before, by the root of the KL", () => {
  const exact = foretoldLosses(
    { metric: "kl", figure: 0.25, before: pairs(0) },
    seededRandom(1),
  );
  assert.ok(Math.abs(exact() - 0.15) < 1e-9);
  const about = { metric: "kl", figure: 0.25, before: pairs(0.04) };
  const near = quantileOf(foretoldLosses(about, seededRandom(1)), 0.5);
  assert.ok(Math.abs(near - 0.15) < 0.02, `${near}`);
  const width = (noise: number) => {
    const draw = foretoldLosses({ ...about, before: pairs(noise) }, seededRandom(2));
    return quantileOf(draw, 0.975) - quantileOf(draw, 0.025);
  };
  assert.ok(width(0.2) > 3 * width(0.04), "what orders badly leaves more open");
  const plain = { metric: "answer_likelihood", figure: 0.25, before: pairs(0) };
  const straight = quantileOf(foretoldLosses(plain, seededRandom(1)), 0.5);
  assert.ok(Math.abs(straight - 0.15) > 0.003, "nothing is rooted of a likelihood");
  const alike = pairs(0).map(({ loss }) => ({ figure: 0.1, loss }));
  const spread = foretoldLosses({ ...about, before: alike }, seededRandom(3));
  assert.ok(Number.isFinite(spread()), "one figure for all has no slope");
});

Deno.test("the interval of foretold losses holds the truth about as often as it says", () => {
  const random = seededRandom(9);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const lossAt = (kl: number) => 0.3 * Math.sqrt(kl) + 0.02 * normal();
  const studies = 300;
  let held = 0;
  for (let study = 0; study < studies; study++) {
    const before = Array.from({ length: 10 }, () => {
      const figure = 0.4 * random();
      return { figure, loss: lossAt(figure) };
    });
    const kl = 0.4 * random();
    const draw = foretoldLosses({ metric: "kl", figure: kl, before }, seededRandom(study));
    const truth = lossAt(kl);
    const [low, high] = [quantileOf(draw, 0.025, 400), quantileOf(draw, 0.975, 400)];
    if (low <= truth && truth <= high) held++;
  }
  assert.ok(held / studies > 0.91, `${held} of ${studies}`);
});

/** A member of the front of which so many of 200 answers are right. */
function member(right: number, bytes: number): RungEvidence {
  const { rows, samples, ...compared } = rival(
    Array.from({ length: 200 }, (_, i) => i < right ? 1 : 0),
    bytes,
  );
  const evaluation: Evaluation = { measurements: [...rows], samples: [...samples], protocol: {} };
  return { ...compared, evaluations: new Map([["full", evaluation]]) };
}

/** A trial that has only its KL. */
function unread(bytes: number): RungEvidence {
  const kl = { ...figure("kl", 0.1, null, 0.01), task: null, fidelity: "kl" };
  const evaluation: Evaluation = { measurements: [kl], samples: [], protocol: {} };
  return {
    measurements: [kl, figure("size_bytes", bytes, null, null)],
    latency: null,
    evaluations: new Map([["kl", evaluation]]),
  };
}

const spec: Spec = {
  ...accuracySpec,
  rungs: [{ fidelity: "kl", samples: {} }, ...accuracySpec.rungs],
};

Deno.test("a trial whose KL foretells a loss does not join beside a smaller member; one that is smallest does", () => {
  const front = [member(160, 200), member(150, 100)];
  const foretold = (kl: number) => ({
    ...{ rung: "kl", metric: "kl", figure: kl, samples: 16, before: pairs(0.01), original: 0.8 },
  });
  const of = (bytes: number, kl: number) =>
    foretoldJoining(unread(bytes), front, foretold(kl), spec, seededRandom(3), { draws: 500 })!;
  assert.equal(
    joinProbability(unread(150), front, spec, seededRandom(3)),
    null,
    "nothing to compare",
  );
  const lost = of(150, 0.4); // 0.8 − 0.19 = 0.61 beside 0.75 of 100 bytes
  assert.ok(lost.probability < 0.01, `${lost.probability}`);
  assert.deepEqual([lost.rung, lost.samples, lost.foretold_by, lost.rival], ["kl", 16, 12, 1]);
  assert.ok(of(150, 0.0001).probability > 0.3, "it may well be better than 0.75");
  assert.equal(of(50, 0.4).probability, 501 / 502, "nobody has fewer bytes");
  const few = { ...foretold(0.4), before: pairs(0).slice(0, 7) };
  assert.equal(foretoldJoining(unread(150), front, few, spec, seededRandom(3)), null);
  assert.equal(foretoldJoining(unread(150), [], foretold(0.4), spec, seededRandom(3)), null);
});

const bits = (count: number, group_size: number, symmetric: boolean) => ({
  actions: [{
    ...{ agent: "shrinking", method: "round" },
    params: { bits: count, group_size, symmetric, targets: "both" },
  }],
});

/** A study with a rung of text, whose KL goes with what is lost or with nothing. */
async function study(kl: (count: number) => number) {
  const strategies = [8, 4, 3].flatMap((count) =>
    [32, 64].flatMap((size) => [true, false].map((symmetric) => bits(count, size, symmetric)))
  );
  const w = world(
    {
      strategies: [...strategies, bits(2, 32, true)],
      samples: { kl: 4 },
      max_trials: 13,
      max_full_evaluations: 20,
      constraints: { max_accuracy_drop: 0.5 },
      seed: 1, // none of those to be stopped is finished all the same
    },
    {
      samples: { kl: 40, proxy: 100, full: 400 },
      kl,
      loss: (count) => ({ 8: 0, 4: 0.03, 3: 0.08, 2: 0.5 })[count] ?? 0,
      spec: (one) => ({
        ...one,
        gates: [],
        objectives: one.objectives.filter(({ metric }) => metric === "accuracy"),
      }),
    },
  );
  const { trials } = await run(w);
  return trials.at(-1)!;
}

Deno.test("a study stops a trial on the rung of text where its KL foretells it, and not where it tells nothing", async () => {
  const told = await study((count) => ({ 8: 0.001, 4: 0.02, 3: 0.1, 2: 1.2 })[count] ?? 0);
  assert.equal(told.fidelity, "kl", JSON.stringify(told.gates));
  const gate = told.gates.find((one) => one.gate === "joins_front")!;
  assert.equal(gate.decision, "abort");
  assert.match(gate.reason, /whose quality they foretell by \d+ trials before it/);
  const untold = await study((count) => ({ 8: 0.1, 4: 0.1, 3: 0.1, 2: 0.1 })[count] ?? 0);
  assert.notEqual(untold.fidelity, "kl", JSON.stringify(untold.gates));
});
