/** The rung of the original's own answers: who is asked there, what it gates, what it says nothing of. */
import assert from "node:assert/strict";
import {
  type Evaluation,
  inferSpec,
  isGenerated,
  planRungs,
  poweredGate,
  poweredQuality,
  predictionPowered,
  type Spec,
  type StudyRequestInput,
  type Trial,
  UsageError,
} from "../../core/mod.ts";
import { plugins, request, smallFacts, tasks } from "./spec_fixtures.ts";
import { figure, historyOf, run, sample, type World, world } from "./study_world.ts";

const two = tasks.filter(({ name }) => name === "words" || name === "sums");

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

const climbed = ({ calls }: World, trial: Trial, rung: string): boolean =>
  calls.some(({ trial_id, fidelity }) => trial_id === trial.trial_id && fidelity === rung);

/** 200 of the original's answers: log-likelihood of a token, and how much of it is lost. */
function likelihoods(lost: (i: number) => number): Evaluation {
  const n = 200;
  const all = Array.from({ length: n }, (_, i) => lost(i));
  const mean = all.reduce((sum, one) => sum + one, 0) / n;
  const error = Math.sqrt(all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1) / n);
  return {
    measurements: [{
      ...figure("answer_likelihood", mean, null, error),
      ...{ n, unit: "nats/token", fidelity: "likelihood", task: "words", task_version: "1" },
    }],
    samples: all.map((one, i) => sample("words", i, -1 - one)),
    protocol: { words: "likelihood-1" },
  };
}

Deno.test("the likelihood's rung asks what generates, of more samples than the proxy where told so", () => {
  const generated = {
    ...two.find(({ name }) => name === "words")!,
    definition: { output_type: "generate_until" },
  };
  const both = [generated, two.find(({ name }) => name === "sums")!];
  const samples = { likelihood: 300, proxy: 10, full: 400 };
  assert.deepEqual(planRungs(both, request({ samples })), [
    { fidelity: "likelihood", samples: { words: 300 } },
    { fidelity: "proxy", samples: { words: 10, sums: 10 } },
    { fidelity: "full", samples: { words: 400, sums: 400 } },
  ]);
  const few = planRungs([generated], request({ samples: { ...samples, full: 50 } }));
  assert.deepEqual(few.map((rung) => rung.samples["words"]), [50, 10, 50]);
  assert.throws(
    () => planRungs(two, request({ samples: { likelihood: 16 } })),
    refused(/^Cannot take 16 samples on the rung likelihood as no benchmark of this study says/),
  );
  // A definition that names neither kind nor decoding includes one that may.
  const kinds = [
    { output_type: "loglikelihood" },
    { generation_kwargs: {} },
    { include: "x" },
    null,
  ];
  assert.deepEqual(
    kinds.map((definition) => isGenerated({ ...two[0]!, definition })),
    [false, true, false, false],
  );
  assert.equal(isGenerated({ ...two[0]!, definition: { include: "x" }, generates: true }), true);
  assert.throws(
    () => inferSpec(request({ gates: { answer_likelihood: 0.1 } }), smallFacts(), plugins),
    refused(/^Cannot set a gate on answer_likelihood as no rung of this study measures it/),
  );
});

/** A study of words whose answers are generated, 4 bits and below losing likelihood. */
function likelihoodWorld(asked: Partial<StudyRequestInput>) {
  const spec = (inferred: Spec): Spec => ({
    ...inferred,
    rungs: [{ fidelity: "likelihood", samples: { words: 200 } }, ...inferred.rungs],
  });
  return world({ max_trials: 5, ...asked }, {
    spec,
    samples: { likelihood: 200, proxy: 100, full: 400 },
    likelihood: (bits) =>
      likelihoods((i) => bits >= 16 ? 0 : (9 - bits) / 10 + (i % 2 ? 0.05 : -0.05)),
  });
}

Deno.test("a trial whose answers grew unlikely ends before it generates; no quality is read there", async () => {
  const w = likelihoodWorld({ until_decided: true });
  const gates = [{ metric: "answer_likelihood", most: 0.3 }];
  const input = w.input();
  const { trials } = await run(w, { spec: { ...input.spec, gates } });
  const [baseline, ...tried] = trials;
  const row = (trial: Trial) =>
    trial.measurements.find(({ metric, task }) => metric === "answer_likelihood" && task === null)!;
  assert.equal(row(baseline!).value, 0);
  for (const trial of tried) {
    const gate = trial.gates.find((one) => one.gate === "likelihood_answer_likelihood")!;
    const lost = row(trial).value > 0.3;
    assert.equal(gate.decision, lost ? "abort" : "pass");
    assert.match(
      gate.reason,
      /^likelihood lost of the original's answers on likelihood, n 200, is/,
    );
    assert.equal(trial.state === "stopped" && trial.fidelity === "likelihood", lost);
    assert.equal(climbed(w, trial, "proxy"), !lost);
    assert.ok(
      !trial.measurements.some(({ metric, fidelity }) =>
        metric === "accuracy" && fidelity === "likelihood"
      ),
    );
  }
  const told = tried.flatMap(({ gates }) => gates.filter(({ gate }) => /powered/.test(gate)));
  assert.deepEqual(new Set(told.map(({ gate }) => gate)), new Set(["proxy_powered_accuracy"]));
  assert.match(told[0]!.reason, /words: 100 of 200 generated, plain mean, as 100 samples are not/);
  assert.match(told[0]!.reason, /is 0.000 \(no interval, as the scored samples all differ alike; /);
  assert.ok(tried.some(({ state }) => state === "stopped"));
  assert.ok(tried.some(({ fidelity }) => fidelity === "full"));
  assert.ok(!w.calls.some(({ fidelity, look }) => fidelity === "likelihood" && look !== undefined));
});

Deno.test("the likelihood's rung says nothing of who joins the front: without a gate all climb", async () => {
  const { trials } = await run(likelihoodWorld({ max_trials: 12 }));
  assert.ok(trials.length > 8);
  for (const { fidelity, gates } of trials) {
    assert.notEqual(fidelity, "likelihood", JSON.stringify(gates));
  }
});

Deno.test("the likelihood of all narrows what a few generated samples say, or the gate says why not", () => {
  const { spec } = likelihoodWorld({}).input();
  const accuracy = { ...figure("accuracy", 0.5, null, 0.05), task: "words", fidelity: "proxy" };
  const of = (scores: number[]) => ({
    measurements: [accuracy],
    samples: scores.map((score, i) => sample("words", i, score)),
    protocol: { words: "1" },
  });
  const n = 1000;
  const lost = Array.from({ length: n }, (_, i) => (i * 7919) % n / n); // all of 0 to 1, in no order
  const likely = { reference: of(lost.map(() => -1)), other: of(lost.map((one) => -1 - one)) };
  const few = lost.slice(0, 200);
  const answered = (turned: (one: number) => boolean) => ({
    reference: of(few.map(() => 1)),
    other: of(few.map((one) => turned(one) ? 0 : 1)),
  });
  const found = poweredQuality(spec, answered((one) => one > 0.7), likely)!;
  const direct = predictionPowered({
    scored: few.map((predictor) => ({ difference: predictor > 0.7 ? 1 : 0, predictor })),
    others: lost.slice(200),
  })!;
  const numbers = (
    drop: number,
    rho: number,
    interval: readonly number[],
  ) => [drop, rho, ...interval];
  const wanted = numbers(direct.drop, direct.rho, direct.interval);
  numbers(found.drop, found.tasks[0]!.rho, found.interval)
    .forEach((number, i) => assert.ok(Math.abs(number - wanted[i]!) < 1e-12));
  const rare = poweredQuality(spec, answered((one) => one > 0.95), likely)!;
  const gates = [found, rare].map((one) => poweredGate(spec, "proxy", one));
  assert.match(
    gates[0]!.reason,
    /200 of 1000 generated, prediction-powered .* rho 0\.[78]\d, lambda/,
  );
  assert.match(gates[1]!.reason, /plain mean, as \d+ of the scored answers turned, fewer than 20$/);
  assert.deepEqual(gates.map(({ decision }) => decision), ["pass", "pass"]);
  const width = ([low, high]: readonly [number, number]) => high - low;
  const plain = 2 * 1.96 * Math.sqrt(0.8 * 0.21 / 200); // of a share of 0.3 among 200 of 1000
  assert.ok(width(found.interval) < 0.75 * plain, `${width(found.interval)} beside ${plain}`);
  const other = { ...likely, other: { ...likely.other, samples: likely.other.samples.slice(5) } };
  assert.equal(poweredQuality(spec, answered(() => false), other), null, "one is not known");
});

Deno.test("a study that was killed after the likelihood's rung goes on with what it said", async () => {
  const whole = likelihoodWorld({ max_trials: 3 });
  const { trials } = await run(whole);
  const closed = whole.records.findIndex(({ type }) => type === "trial_closed"); // the baseline's
  const again = likelihoodWorld({ max_trials: 3 });
  const history = historyOf(whole, closed + 1);
  const ids = new Set(history.study.trials.map(({ trial_id }) => trial_id));
  const evaluations = history.evaluations.filter(({ trial_id }) => ids.has(trial_id));
  const resumed = await run(again, { history: { ...history, evaluations } });
  assert.equal(resumed.trials.length, trials.length);
  assert.ok(!again.calls.some(({ trial_id }) => ids.has(trial_id)), "the baseline is kept");
  const gatesOf = (found: readonly Trial[]) =>
    found.map(({ gates }) => gates.map(({ gate, reason }) => `${gate}: ${reason}`));
  assert.deepEqual(gatesOf(resumed.trials), gatesOf(trials));
  assert.ok(gatesOf(trials).flat().some((one) => one.startsWith("proxy_powered_accuracy")));
});
