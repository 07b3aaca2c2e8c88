/** Goals against the original: how they are read, and what figures make of them. */
import assert from "node:assert/strict";
import {
  checkConstraints,
  comparableStudy,
  type Constraints,
  inferSpec,
  type Measurement,
  type RunRequest,
  type Spec,
} from "../../core/mod.ts";
import { DEMO, spec as timedSpec } from "./timed_trials.ts";
import { goalsAsked } from "../../core/spec/goals_asked.ts";
import { plugins, request, smallFacts, tasks } from "./spec_fixtures.ts";

const penalty = {
  ...{ term: "penalty" as const, weight: 1, normalised: 1, contribution: -1 },
  note: "goal/latency_ms is violated",
};

const facts = smallFacts();
const specOf = (goals: RunRequest["constraints"]["goals"]): Spec => {
  const asked = request();
  return inferSpec(
    { ...asked, constraints: { ...asked.constraints, ...(goals && { goals }) } },
    facts,
    plugins,
  );
};

const row = (metric: string, value: number, more: Partial<Measurement> = {}): Measurement => ({
  ...{ metric, value, unit: "1", direction: "minimize", n: 5, standard_error: null },
  ...{ fidelity: "full", provenance: "measured", task: null, task_version: null, slice: null },
  ...{ runtime: null, numerics: null, device: null, method: "" },
  ...more,
});

/** The verdict on a goal by the rows of original and trial. */
function verdictOf(
  goals: NonNullable<RunRequest["constraints"]["goals"]>,
  constraint: string,
  baseline: Measurement[],
  trial: Measurement[],
  quality: Parameters<typeof checkConstraints>[3] = null,
) {
  const found = checkConstraints(specOf(goals), facts, trial, quality, [], baseline);
  return found.find((one) => one.constraint === constraint)!;
}

Deno.test("goals are read by metric and task, absolute or in per cent, several at once", () => {
  const task = specOf({}).tasks[0]!.task;
  const { goals } = specOf({ latency_ms: "+30%", size_bytes: "-1000", [task]: "-0.01" })
    .constraints as Constraints;
  assert.deepEqual(goals, [
    { on: "latency_ms", of: "metric", amount: 0.3, percent: true },
    { on: "size_bytes", of: "metric", amount: -1000, percent: false },
    { on: task, of: "task", amount: -0.01, percent: false },
  ]);
  assert.equal(specOf({}).constraints.goals, undefined);
  assert.throws(
    () => specOf({ latency_mss: "+30%" }),
    /Unknown metric or task to set a goal on "latency_mss". Did you mean "latency_ms"/,
  );
});

Deno.test("goals that mean nothing, or say two things of one figure, are refused", () => {
  const dataset = specOf({}).tasks[0]!.task;
  const refused: [NonNullable<RunRequest["constraints"]["goals"]>, RegExp][] = [
    [
      { latency_ms: "+30%", latency: "-5%" },
      /two goals on latency_ms, latency_ms=\+30% and latency=-5%/,
    ],
    [{ latency_ms: "+130%" }, /cannot fall by more than 100 %/],
    [{ accuracy: "-500%" }, /cannot fall by more than 100 %/],
    [{ accuracy: "-5" }, /lies from 0 to 1, so it cannot differ by 5; write accuracy=-5%/],
    [{ [dataset]: "-5" }, /lies from 0 to 1/],
    [{ kl: "-5%" }, /the original's own kl is 0, .*; write kl=-0.1/],
    [{ kl: "+0.1" }, /the original's own kl is 0/],
    [
      { f1: "-5%" },
      /goal on f1 as the study has no mean of it: name a task, of words \(accuracy\)/,
    ],
    [
      { answer_likelihood: "-0.1" },
      /goal on answer_likelihood as no rung of this study measures it/,
    ],
    [{ latncy: "+30%" }, /Did you mean "latency"/],
  ];
  for (const [goals, why] of refused) assert.throws(() => specOf(goals), why);
  assert.equal(
    specOf({ accuracy: "+150%" }).constraints.goals?.length,
    1,
    "of a small one it may be",
  );
});

Deno.test("a goal is on the task that a dataset's word names", () => {
  const { goals } = goalsAsked({ gsm8k: "-1%" }, tasks);
  assert.deepEqual(goals, [{ on: "sums", of: "task", amount: -0.01, percent: true }]);
  assert.throws(() => goalsAsked({ gsm8k: "-1%", sums: "-2%" }, tasks), /two goals on sums/);
});

Deno.test("a least improvement is met, violated or undecided by the ratio of the same minutes", () => {
  const spec = specOf({});
  const at = { runtime: spec.runtime };
  const baseline = [row("latency_ms", 40, at)];
  const timed = (ratio: number, error: number) => [
    row("latency_ms", 99, at), // of other minutes
    row("latency_ratio", ratio, { ...at, standard_error: error }),
  ];
  const of = (ratio: number, error: number) =>
    verdictOf({ latency_ms: "+30%" }, "goal/latency_ms", baseline, timed(ratio, error));
  const met = of(0.6, 0.01);
  assert.deepEqual([met.verdict, met.threshold, met.value], ["met", -12, -16]);
  assert.equal(of(0.72, 0.002).verdict, "violated");
  assert.equal(of(0.7, 0.02).verdict, "undecided");
});

Deno.test("tokens a second are judged by the ratio of the same minutes, turned round", () => {
  const at = { runtime: specOf({}).runtime };
  const found = verdictOf(
    { decode_tokens_per_s: "+20%" },
    "goal/decode_tokens_per_s",
    [row("decode_tokens_per_s", 100, { ...at, direction: "maximize" })],
    [
      row("decode_tokens_per_s", 50, { ...at, direction: "maximize" }), // of other minutes
      row("latency_ratio", 0.8, { ...at, standard_error: 0.008 }),
    ],
  );
  assert.deepEqual([found.verdict, found.value, found.threshold], ["met", -25, -20]);
  assert.ok(Math.abs(found.interval![1] - (-25 + 1.96 * 1.25)) < 0.01);
});

Deno.test("a degradation is allowed so far, in the figure's own unit or of the original's", () => {
  const of = (goal: string, after: number) =>
    verdictOf({ size_bytes: goal }, "goal/size_bytes", [row("size_bytes", 1000)], [
      row("size_bytes", after),
    ]).verdict;
  assert.equal(of("-10%", 1100), "met", "exactly at the limit");
  assert.equal(of("-10%", 1101), "violated");
  const counted = [row("size_bytes", 1000, { standard_error: 0 })];
  assert.equal(
    verdictOf({ size_bytes: "-10%" }, "goal/size_bytes", counted, counted).interval,
    null,
    "bytes are counted",
  );
  assert.equal(of("+200", 800), "met");
  assert.equal(of("+200", 801), "violated");
  const missing = verdictOf({ size_bytes: "+1%" }, "goal/size_bytes", [], [row("size_bytes", 1)]);
  assert.deepEqual([missing.verdict, missing.value], ["unmeasured", null]);
});

Deno.test("per cent of quality are of the original's own, judged by its paired interval", () => {
  const quality = (interval: [number, number]) => ({
    ...{ metric: "accuracy" as const, fidelity: "full", n: 400, sequence: null, interval },
    drop: (interval[0] + interval[1]) / 2,
    samplesToDecide: () => 900,
  });
  const of = (interval: [number, number]) =>
    verdictOf(
      { accuracy: "-5%" },
      "goal/accuracy",
      [row("accuracy", 0.6, { direction: "maximize" })],
      [],
      quality(interval),
    );
  assert.ok(Math.abs(of([0, 0.02]).threshold - 0.03) < 1e-12);
  assert.equal(of([0, 0.02]).verdict, "met");
  assert.equal(of([0.04, 0.06]).verdict, "violated");
  const none = [row("accuracy", 0, { direction: "maximize" })];
  const absolute = verdictOf({ accuracy: "-0.01" }, "goal/accuracy", none, [], quality([0, 0]));
  assert.equal(absolute.verdict, "met", "also where the original has no right answer");
  const open = of([0.02, 0.05]);
  assert.deepEqual([open.verdict, open.samples_to_decide], ["undecided", 900]);
});

Deno.test("a goal of latency is judged by the sessions of its form together, as its limit is", () => {
  const goal = { on: "latency_ms", of: "metric" as const, amount: 0.3, percent: true };
  const limited = { ...timedSpec, constraints: { ...timedSpec.constraints, goals: [goal] } };
  const alone = {
    constraint: "goal/latency_ms",
    ...{ threshold: -4.68, value: 1, interval: null, samples_to_decide: null },
    verdict: "violated" as const,
  };
  const judged = DEMO.map((trial) => ({
    ...trial,
    constraints: trial.number === 0 ? [] : [alone],
    reward: { value: -1, terms: [penalty] },
  }));
  const [two, three] = comparableStudy(judged, limited).trials.slice(2, 4);
  // 0.47 of the original: at least 30 % faster, whatever its own minutes said.
  assert.equal(two!.constraints[0]!.verdict, "met");
  assert.deepEqual(two!.constraints, three!.constraints);
  const { ms, ratio } = two!.latency!;
  assert.ok(Math.abs(two!.constraints[0]!.threshold + 0.3 * ms / ratio!) < 1e-9);
  assert.deepEqual(two!.reward!.terms.filter(({ term }) => term === "penalty"), []);
});

Deno.test("a goal on quality says how many samples decided it, as a limit does", () => {
  const drawn = { batches: [[{ difference: 0, times: 400, share: 0, stake: 1 }]] };
  const { verdict, evidence } = verdictOf(
    { accuracy: "-5%" },
    "goal/accuracy",
    [row("accuracy", 0.6, { direction: "maximize" })],
    [],
    {
      ...{ metric: "accuracy" as const, fidelity: "full", n: 400, drop: 0, interval: null },
      sequence: { drawn, existing: 1000, n: 400, flips: 0 },
      samplesToDecide: () => 900,
    },
  );
  assert.equal(verdict, "met");
  assert.deepEqual([evidence!.samples, evidence!.existing, evidence!.decided_at], [400, 1000, 400]);
  assert.ok(evidence!.p_within! < 0.05);
});
