import assert from "node:assert/strict";
import {
  checkConstraints,
  type Comparable,
  type ComparedLatency,
  compareQuality,
  type ConstraintVerdict,
  type Evaluation,
  frontEstimate,
  type Measurement,
  rewardOf,
  rungGate,
  rungThreshold,
  type Spec,
  streamRandom,
  withAggregates,
} from "../../core/mod.ts";
import { smallFacts } from "./spec_fixtures.ts";
import { answers as samplesOf, mayJoin } from "./front_rivals.ts";
import { figure, run, world } from "./study_world.ts";

const facts = smallFacts();
const spec = world().input().spec;
const perplexitySpec: Spec = {
  ...spec,
  objectives: [
    { metric: "perplexity", direction: "minimize", unit: "1" },
    ...spec.objectives.slice(1),
  ],
  tasks: spec.tasks.map((plan) => ({ ...plan, primary: plan.task === "words_text" })),
};

function quality(task: string, value: number, n: number, standard_error = 0.02): Measurement {
  const metric = task === "words" ? "accuracy" : "perplexity";
  return {
    ...figure(metric, value, null, standard_error),
    direction: metric === "accuracy" ? "maximize" : "minimize",
    n,
    fidelity: "proxy",
    task,
  };
}

/** Of n words the first are right, then as many wrong as said. */
function words(n: number, right: number): Evaluation {
  const scores = Array.from({ length: n }, (_, i) => i < right ? 1 : 0);
  return {
    measurements: [quality("words", right / n, n)],
    samples: samplesOf(scores),
    protocol: { words: "1" },
  };
}

function text(losses: readonly number[]): Evaluation {
  const mean = losses.reduce((a, b) => a + b, 0) / losses.length;
  return {
    measurements: [quality("words_text", Math.exp(mean), losses.length)],
    samples: samplesOf(losses, "words_text"),
    protocol: { words_text: "1" },
  };
}

const drop = (lost: number, n: number) =>
  compareQuality(spec, "proxy", words(n, n / 2), words(n, n / 2 - lost))!;

const verdictOf = (verdicts: readonly ConstraintVerdict[], name: string) =>
  verdicts.find(({ constraint }) => constraint === name)?.verdict;

Deno.test("withAggregates() takes the unweighted mean over primary tasks and adds their variances", () => {
  const two = { ...spec, tasks: ["a", "b"].map((task) => ({ ...spec.tasks[0]!, task })) };
  const rows = [
    { ...quality("words", 0.5, 100, 0.03), task: "a" },
    { ...quality("words", 0.9, 10, 0.04), task: "b" },
  ];
  const found = withAggregates({ measurements: rows, samples: [], protocol: {} }, two)
    .measurements.at(-1)!;
  assert.equal(found.task, null);
  assert.equal(found.value, 0.7);
  assert.equal(found.n, 110);
  assert.ok(Math.abs(found.standard_error! - 0.025) < 1e-12, "√(0.03² + 0.04²) / 2");
});

Deno.test("an accuracy drop is met, undecided or violated by its 95 % interval", () => {
  const verdict = (lost: number, n: number) =>
    verdictOf(checkConstraints(spec, facts, [], drop(lost, n)), "max_accuracy_drop");
  assert.equal(verdict(0, 1000), "met");
  assert.equal(verdict(0, 100), "undecided");
  assert.equal(verdict(6, 200), "undecided");
  assert.equal(verdict(40, 400), "violated");
  const unmeasured = checkConstraints(spec, facts, [], null)[0]!;
  assert.equal(unmeasured.verdict, "unmeasured");
  assert.equal(unmeasured.value, null);
});

Deno.test("a verdict on all samples that exist is exact; on fewer it says after how many it stood", () => {
  const of = (available_samples: number, n: number, lost: number) => {
    const tasks = spec.tasks.map((task) => ({ ...task, available_samples }));
    const own = { ...spec, tasks };
    const compared = compareQuality(own, "proxy", words(n, n / 2), words(n, n / 2 - lost));
    return checkConstraints(own, facts, [], compared)[0]!;
  };
  const exact = of(320, 320, 6);
  assert.equal(exact.verdict, "met", "6 of 320 are less than 0.02");
  assert.deepEqual(exact.interval!.map((one) => one.toFixed(9)), ["0.018750000", "0.018750000"]);
  const { p_within, ...taken } = exact.evidence!;
  assert.deepEqual(taken, { samples: 320, existing: 320, decided_at: 320, exact: true });
  assert.ok(p_within! > 0.05, "no look on the way decided");
  assert.equal(of(320, 320, 7).verdict, "violated");
  const open = of(3200, 320, 6);
  assert.equal(open.verdict, "undecided");
  assert.equal(open.evidence!.decided_at, null);
  assert.ok(open.samples_to_decide! > 320 && open.samples_to_decide! <= 3200);
  const early = of(3200, 320, 120);
  assert.equal(early.verdict, "violated");
  assert.ok(early.evidence!.decided_at! < 320 && !early.evidence!.exact);
});

Deno.test("samples_to_decide falls with the distance to the threshold", () => {
  const samples = (lost: number) =>
    checkConstraints(spec, facts, [], drop(lost, 200))[0]!.samples_to_decide!;
  assert.ok(samples(5) > samples(7));
  assert.ok(samples(7) > 200);
  const onThreshold = checkConstraints(spec, facts, [], drop(4, 200))[0]!;
  assert.equal(onThreshold.verdict, "undecided");
  assert.equal(onThreshold.samples_to_decide, null, "no number decides a drop of exactly 0.02");
});

Deno.test("limits on size, latency and memory are judged by the runtime's measured figures", () => {
  const limited: Spec = {
    ...spec,
    constraints: { ...spec.constraints, max_size_gb: 0.1, max_latency_ms: 10, max_vram_gb: 1 },
  };
  const latency = (value: number, error: number | null, runtime: string | null = spec.runtime) =>
    figure("latency_ms", value, runtime, error);
  const verdicts = (rows: Measurement[]) => checkConstraints(limited, facts, rows, null);
  const of = (row: Measurement, name: string) => verdictOf(verdicts([row]), name);
  assert.equal(of(figure("size_bytes", 100e6, null, 0), "max_size_gb"), "met");
  assert.equal(of(figure("size_bytes", 100e6 + 1, null, 0), "max_size_gb"), "violated");
  assert.equal(of(latency(9.5, 0.1), "max_latency_ms"), "met");
  assert.equal(of(latency(9.9, 0.1), "max_latency_ms"), "undecided");
  assert.equal(of(latency(10.5, 0.1), "max_latency_ms"), "violated");
  assert.equal(of(latency(10.5, null), "max_latency_ms"), "violated");
  assert.equal(of(latency(9.5, 0.1, "another"), "max_latency_ms"), "unmeasured");
  assert.equal(of({ ...latency(9, 0), provenance: "emulated" }, "max_latency_ms"), "unmeasured");
  assert.equal(of(figure("memory_bytes", 0.5e9, spec.runtime, null), "max_vram_gb"), "met");
});

Deno.test("a study of perplexity is judged by the relative rise, five times the accuracy drop", () => {
  const base = Array.from({ length: 40 }, (_, i) => 2 + (i % 7) / 10);
  const compared = (more: (i: number) => number) =>
    compareQuality(perplexitySpec, "proxy", text(base), text(base.map((x, i) => x + more(i))))!;
  const small = compared((i) => 0.05 + (i % 2) / 100);
  assert.ok(Math.abs(small.drop - Math.expm1(0.055)) < 1e-9);
  const [verdict] = checkConstraints(perplexitySpec, facts, [], small);
  assert.equal(verdict!.constraint, "max_perplexity_rise");
  assert.equal(verdict!.threshold, 0.1);
  assert.equal(verdict!.verdict, "met");
  const large = compared((i) => 0.3 + (i % 2) / 100);
  assert.equal(checkConstraints(perplexitySpec, facts, [], large)[0]!.verdict, "violated");
  assert.equal(rungGate(perplexitySpec, "proxy", small).decision, "pass");
  assert.equal(rungGate(perplexitySpec, "proxy", large).decision, "abort");
  assert.equal(rungThreshold(perplexitySpec), 0.25);
});

Deno.test("rungGate() ends a drop that its samples show to be above 0.05, and later for a user who allows more", () => {
  assert.equal(rungGate(spec, "proxy", drop(5, 100)).decision, "pass");
  const open = rungGate(spec, "proxy", drop(6, 100));
  assert.equal(open.decision, "pass", "its interval holds 0.05 as well");
  assert.match(
    open.reason,
    /0\.060 \(95 % interval .*\), above 0\.05, which they do not show yet$/,
  );
  assert.equal(rungGate(spec, "proxy", drop(30, 100)).decision, "abort");
  const all = { ...spec, tasks: spec.tasks.map((task) => ({ ...task, available_samples: 100 })) };
  const whole = compareQuality(all, "proxy", words(100, 50), words(100, 44));
  assert.equal(rungGate(all, "proxy", whole).decision, "abort", "all samples that exist show it");
  const lax = { ...spec, constraints: { ...spec.constraints, max_accuracy_drop: 0.1 } };
  assert.equal(rungGate(lax, "proxy", drop(6, 100)).decision, "pass");
  assert.equal(rungGate(spec, "proxy", null).decision, "pass");
});

const overall = (value: number, metric = "accuracy") => ({
  ...figure(metric, value, null, 0.01),
  fidelity: "full" as const,
});

Deno.test("rewardOf() weighs values over the baseline's, and leaves out what was not measured", () => {
  const weights = { accuracy: 0.4, latency: 0.3, memory: 0.2, energy: 0.1 };
  const input = {
    spec: { ...spec, reward_weights: weights },
    facts,
    fidelity: "full" as const,
    baseline: [
      overall(0.8),
      figure("latency_ms", 20, spec.runtime, null),
      figure("memory_bytes", 4e8, spec.runtime, null),
    ],
    measurements: [
      overall(0.72),
      figure("latency_ms", 12, spec.runtime, null),
      figure("memory_bytes", 1e8, spec.runtime, null),
    ],
    constraints: [],
  };
  const reward = rewardOf(input);
  // 0.4·0.9 − 0.3·0.6 − 0.2·0.25
  assert.ok(Math.abs(reward.value - 0.13) < 1e-12, String(reward.value));
  const energy = reward.terms.find(({ term }) => term === "energy")!;
  assert.deepEqual([energy.weight, energy.normalised, energy.contribution], [0.1, null, 0]);
  assert.match(energy.note!, /not measured: left out/);
  const estimated = { ...figure("energy_j_per_1k_tokens", 9, null, null), provenance: "estimated" };
  const more = { ...input, measurements: [...input.measurements, estimated as Measurement] };
  assert.equal(rewardOf(more).value, reward.value, "an estimate never steers");
  const interleaved = [
    ...input.measurements,
    figure("baseline_latency_ms", 24, spec.runtime, null),
  ];
  assert.ok(Math.abs(rewardOf({ ...input, measurements: interleaved }).value - 0.16) < 1e-12);
});

Deno.test("rewardOf() weighs CO2 that was read, and no estimate of it", () => {
  const weights = { accuracy: 0.8, latency: 0, memory: 0, energy: 0, co2: 0.2 };
  const read = (value: number, provenance: Measurement["provenance"]) => ({
    ...figure("co2_g_per_1k_tokens", value, spec.runtime, null),
    provenance,
  });
  const found = (provenance: Measurement["provenance"]) =>
    rewardOf({
      spec: { ...spec, reward_weights: weights },
      facts,
      fidelity: "full",
      baseline: [overall(0.8), read(4, provenance)],
      measurements: [overall(0.8), read(1, provenance)],
      constraints: [],
    });
  assert.ok(Math.abs(found("measured").value - (0.8 - 0.2 * 0.25)) < 1e-12);
  const { value, terms } = found("estimated");
  assert.equal(value, 0.8);
  const note = terms.find(({ term }) => term === "co2")?.note;
  assert.equal(note, "CO2 is an estimate, which never steers: left out");
});

Deno.test("rewardOf() penalises violated constraints only, quality above all", () => {
  const verdict = (constraint: string, verdict: ConstraintVerdict["verdict"]) => ({
    constraint,
    threshold: 1,
    value: 2,
    interval: null,
    verdict,
    samples_to_decide: null,
  });
  const value = (...constraints: ConstraintVerdict[]) =>
    rewardOf({ spec, facts, fidelity: "full", baseline: [], measurements: [], constraints }).value;
  assert.equal(value(verdict("max_accuracy_drop", "undecided")), 0);
  assert.equal(value(verdict("max_accuracy_drop", "violated")), -10);
  assert.equal(value(verdict("max_size_gb", "violated"), verdict("max_accuracy_drop", "met")), -1);
});

function timed(ms: number, log_error = 0): ComparedLatency {
  return { ratio: null, log_error, interval: null, ms, form: `${ms}`, sessions: 1 };
}

Deno.test("joinProbability() gives the benefit of the doubt, and only that", () => {
  const evidence = (right: number, bytes: number, n = 100) => ({
    measurements: [figure("size_bytes", bytes, null, 0)],
    latency: timed(bytes, 0.01 / bytes),
    evaluations: new Map([["proxy", words(n, right)]]),
  });
  // Smaller; perhaps as right; surely worse in everything; worse, and smaller.
  const cases = [evidence(60, 90), evidence(58, 110), evidence(30, 110), evidence(30, 90)];
  const may = cases.map((one) => mayJoin(one, [evidence(60, 100)], spec));
  assert.deepEqual(may, [true, true, false, true]);
  assert.equal(mayJoin(evidence(1, 999), [], spec), true, "nothing to beat it");
});

Deno.test("frontEstimate() is near a half for a coin's toss and 1 for a clear win", () => {
  const contender = (id: string, scores: number[], bytes: number) => {
    const value = scores.reduce((a, b) => a + b, 0) / scores.length;
    const task = { ...quality("words", value, scores.length), fidelity: "full" as const };
    const trial = {
      trial_id: id,
      measurements: [
        task,
        { ...task, task: null },
        figure("size_bytes", bytes, null, 0),
      ],
      latency: timed(bytes),
    } as unknown as Comparable; // only what the function reads
    return { trial, samples: samplesOf(scores) };
  };
  const alternating = Array.from({ length: 200 }, (_, i) => i % 2);
  const found = frontEstimate(
    [
      contender("small", alternating, 1),
      contender("large", alternating.map((x) => 1 - x), 2),
      contender("larger and never right", alternating.map(() => 0), 3),
    ],
    spec,
    streamRandom(5, "probability"),
  ).probability;
  assert.equal(found.get("small"), 1);
  assert.ok(Math.abs(found.get("large")! - 0.5) < 0.08, String(found.get("large")));
  assert.equal(found.get("larger and never right"), 0);
});

Deno.test("frontEstimate() weighs tasks as the claim does: nine to one, the leader leads", () => {
  const weighed: Spec = {
    ...spec,
    tasks: [{ ...spec.tasks[0]!, task: "words", weight: 9 }, {
      ...spec.tasks[0]!,
      task: "minor",
      weight: 1,
    }],
  };
  const contender = (id: string, major: number, minor: number) => {
    const rows = ([["words", major], ["minor", minor]] as const).map(([task, value]) => ({
      ...figure("accuracy", value, null, 0),
      task,
    }));
    const { measurements } = withAggregates(
      { measurements: rows, samples: [], protocol: {} },
      weighed,
    );
    const trial = {
      trial_id: id,
      measurements: [...measurements, figure("size_bytes", 1, null, 0)],
      latency: timed(1),
    } as unknown as Comparable; // only what the function reads
    const scores = (share: number) =>
      Array.from({ length: 100 }, (_, i) => i < 100 * share ? 1 : 0);
    const samples = [...samplesOf(scores(major)), ...samplesOf(scores(minor), "minor")];
    return { trial, samples };
  };
  // 0.9·0.9 + 0.1·0 = 0.81 against 0.9·0.4 + 0.1·1 = 0.46; unweighted 0.45 against 0.7.
  const rivals = [contender("leads", 0.9, 0), contender("trails", 0.4, 1)];
  const found = frontEstimate(rivals, weighed, streamRandom(5, "weights")).probability;
  assert.equal(found.get("leads"), 1);
  assert.equal(found.get("trails"), 0);
});

Deno.test("frontEstimate() weighs strata by their rows: nine to one, the leader leads", () => {
  const contender = (id: string, law: number, art: number) => {
    const ones = (share: number) => Array.from({ length: 100 }, (_, i) => i < 100 * share ? 1 : 0);
    const samples = samplesOf([...ones(law), ...ones(art)]).map((one, i) =>
      i < 100
        ? { ...one, stratum: "law", stratum_rows: 900 }
        : { ...one, stratum: "art", stratum_rows: 100 }
    );
    const row = { ...figure("accuracy", 0.5, null, 0), task: "words" };
    const measurements = [row, { ...row, task: null }, figure("size_bytes", 1, null, 0)];
    const trial = { trial_id: id, measurements, latency: timed(1) };
    return { trial: trial as unknown as Comparable, samples }; // only what the function reads
  };
  const rivals = [contender("leads", 0.9, 0), contender("trails", 0.4, 1)];
  const found = frontEstimate(rivals, spec, streamRandom(5, "strata")).probability;
  assert.deepEqual([...found.values()], [1, 0]);
});

Deno.test("a study of perplexity runs whole: gate, constraint and front by the text", async () => {
  const w = world({}, { spec: () => perplexitySpec });
  const { trials, front, recommendation } = await run(w);
  const stopped = trials.filter(({ state }) => state === "stopped");
  assert.ok(stopped.length > 0);
  assert.ok(stopped.every(({ gates }) => gates.at(-1)!.gate === "proxy_perplexity"));
  const recommended = trials.find(({ trial_id }) => trial_id === recommendation!.trial_id)!;
  assert.ok(front.includes(recommended.trial_id));
  assert.equal(recommended.constraints[0]!.constraint, "max_perplexity_rise");
  assert.equal(recommended.constraints[0]!.verdict, "met");
});
