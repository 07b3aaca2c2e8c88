/** What a latency counts as in a reward: nothing that noise decides. */
import assert from "node:assert/strict";
import { comparableStudy, recommend, rewardOf } from "../../core/mod.ts";
import { figure } from "./study_world.ts";
import { facts, near, rewarded, runtime, spec, timed } from "./timed_trials.ts";

/** A trial that was timed in turn with its baseline: a ratio with its error, as a share of it. */
function paired(number: number, ratio: number, error: number, bytes: number) {
  const trial = timed(number, { own: 20 * ratio, base: 20, bytes, form: `f${number}` });
  const row = { ...figure("latency_ratio", ratio, runtime, error * ratio), form: `f${number}` };
  return { ...trial, measurements: [...trial.measurements, row], reward: weighed(ratio, bytes) };
}

/** Accuracy as the original's; latency and bytes weigh alike. */
function weighed(ratio: number, bytes: number) {
  const cost = (term: "latency" | "size", normalised: number) => (
    { term, weight: 0.5, normalised, contribution: -0.5 * normalised, note: null }
  );
  const terms = [...rewarded(1).terms, cost("latency", ratio), cost("size", bytes / 9000)];
  return { value: terms.reduce((sum, { contribution }) => sum + contribution, 0), terms };
}

const original = { ...timed(0, { own: 20, bytes: 9000 }), reward: weighed(1, 9000) };

/** What the reward counts of a trial's latency, with its note. */
function counted(trials: ReturnType<typeof paired>[], number: number) {
  const { trials: compared } = comparableStudy([original, ...trials], spec);
  const reward = compared.find((trial) => trial.number === number)!.reward!;
  return reward.terms.find(({ term }) => term === "latency")!;
}

Deno.test("a latency that is not told apart from the original's counts as equal to it", () => {
  // The same artifact, timed on a machine that did something else, twice.
  for (const [ratio, error] of [[0.953, 0.6], [1.01, 0.16]] as const) {
    const { normalised, note } = counted([paired(1, ratio, error, 4500)], 1);
    assert.equal(normalised, 1);
    assert.match(note!, /not told apart from the original's: it counts as equal$/);
  }
  near(counted([paired(1, 0.5, 0.01, 4500)], 1).normalised, 0.5);
});

Deno.test("whether one artifact is recommended does not hang on noise in its latency", () => {
  const advised = [0.93, 0.97, 1.01, 1.06, 1.2].map((ratio) => {
    const trials = [original, paired(1, ratio, 0.3, 8900)];
    return recommend({ spec, facts, baseline: original, trials, stop: "exhausted" }).trial_id;
  });
  assert.equal(new Set(advised).size, 1, "by its bytes alone");
});

Deno.test("of latencies that are not told apart, the rest decides", () => {
  const trials = [paired(1, 0.5, 0.03, 5000), paired(2, 0.52, 0.03, 4000)];
  const [first, second] = [counted(trials, 1), counted(trials, 2)];
  near(first.normalised, second.normalised!);
  near(first.normalised, Math.sqrt(0.5 * 0.52), 1e-6);
  assert.match(first.note!, /not told apart from that of t02: they count as equal$/);
  const { trial_id, reasons } = recommend({
    ...{ spec, facts, baseline: original, stop: "exhausted" },
    trials: [original, ...trials],
  });
  assert.equal(trial_id, "t2", "the smaller");
  assert.ok(
    reasons.includes(
      "Its latency is not told apart from that of t01: they count as equal in that reward.",
    ),
  );
  const apart = [paired(1, 0.4, 0.001, 5000), paired(2, 0.6, 0.001, 4000)];
  assert.deepEqual([1, 2].map((number) => counted(apart, number).normalised), [0.4, 0.6]);
});

Deno.test("of many that are not told apart a note names the first: it stays short", () => {
  const trials = Array.from({ length: 40 }, (_, i) => paired(i + 1, 0.5, 0.03, 5000));
  const named = (numbers: number[]) =>
    numbers.map((number) => `t${String(number).padStart(2, "0")}`).join(", ");
  const second = named([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  assert.match(
    counted(trials, 2).note!,
    new RegExp(`that of ${second} and 27 more: they count as equal$`),
  );
  const [three, all] = [trials.slice(0, 3), trials.slice(0, 13)];
  assert.match(counted(three, 3).note!, /that of t01, t02: they count as equal$/);
  assert.match(counted(all, 13).note!, / t12: they count as equal$/);
});

Deno.test("a chain of neighbours is cut where the fastest of them is told apart", () => {
  const ratios = [0.5, 0.54, 0.58, 0.62, 0.66];
  const trials = ratios.map((ratio, i) => paired(i + 1, ratio, 0.01, 5000));
  const found = trials.map(({ number }) => counted(trials, number).normalised!);
  assert.ok(new Set(found).size > 1, "no chain makes all of them equal");
  assert.deepEqual([...found].sort((a, b) => a - b), found, "none changes places");
});

Deno.test("a cost that a trial lacks is unknown: it counts as the original's, and never as nothing", () => {
  const weights = { accuracy: 0.5, latency: 0.5, memory: 0, energy: 0 };
  const quality = { ...figure("accuracy", 0.6, null, 0.01), direction: "maximize" as const };
  const given = {
    ...{ spec: { ...spec, reward_weights: weights }, facts, fidelity: "full", constraints: [] },
    baseline: [quality, figure("latency_ms", 20, runtime, null)],
  };
  const of = (...ms: number[]) =>
    rewardOf({
      ...given,
      measurements: [quality, ...ms.map((one) => figure("latency_ms", one, runtime, null))],
    });
  const original = of(20).value;
  for (const lacking of [of(), of(NaN), of(Infinity)]) {
    assert.equal(lacking.value, original);
    const { normalised, note } = lacking.terms.find(({ term }) => term === "latency")!;
    assert.deepEqual([normalised, note], [
      1,
      "latency not measured: unknown, it counts as the original's",
    ]);
  }
  assert.ok(of(15).value > original && of(30).value < original);
});

Deno.test("in a study whose other trials were timed, one that was not says so", () => {
  const untimed = paired(2, 0.5, 0.01, 4500);
  const trials = [paired(1, 0.5, 0.01, 4500), {
    ...untimed,
    measurements: untimed.measurements.filter(({ runtime: of }) => of === null),
  }];
  const { normalised, note } = counted(trials, 2);
  assert.deepEqual([normalised, note], [
    1,
    "latency not measured: unknown, it counts as the original's",
  ]);
});
