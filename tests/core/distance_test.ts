/** How far a trial's answers are from the original's: by sample, by task, over tasks, at gates. */
import assert from "node:assert/strict";
import {
  answeredTwice,
  changedAnswer,
  choiceKl,
  distanceGates,
  distanceInterval,
  distanceRows,
  type Evaluation,
  flipped,
  inferSpec,
  meanKlInterval,
  type Measurement,
  MOST_KL,
  type SampleResult,
  seededRandom,
  t975,
  wilsonInterval,
} from "../../core/mod.ts";
import { plugins, request, smallFacts } from "./spec_fixtures.ts";
import { figure, run, world } from "./study_world.ts";

const near = (value: number, wanted: number, by = 1e-12) =>
  assert.ok(Math.abs(value - wanted) <= by, `${value} is not ${wanted}`);

function sample(fields: Partial<SampleResult> = {}): SampleResult {
  return {
    ...{ task: "t", sample_id: "0", sample_hash: "0", prompt_hash: "p", score: 1 },
    ...{ answer: null, gold: null, log_likelihood: null },
    ...fields,
  };
}

const choices = (values: number[], more: Partial<SampleResult> = {}) =>
  sample({
    choice_log_likelihoods: values,
    chosen: values.indexOf(Math.max(...values)),
    ...more,
  });

Deno.test("the KL over choices is the sum over their softmax, whatever is added to all", () => {
  const p = [0.7, 0.2, 0.1];
  const q = [0.5, 0.25, 0.25];
  const wanted = p.reduce((sum, share, i) => sum + share * Math.log(share / q[i]!), 0);
  const pair = (shift: number) => ({
    original: choices(p.map((x) => Math.log(x) - 1000)),
    trial: choices(q.map((x) => Math.log(x) + shift)),
  });
  near(choiceKl(pair(0))!, wanted);
  near(choiceKl(pair(-800))!, wanted);
  near(choiceKl({ original: choices([-1, -2]), trial: choices([-1, -2]) })!, 0);
});

Deno.test("a choice that the trial rules out counts at most MOST_KL, one that the original rules out nothing", () => {
  assert.equal(
    choiceKl({ original: choices([-1, -1]), trial: choices([-1, -Infinity]) }),
    MOST_KL,
  );
  near(
    choiceKl({ original: choices([-1, -Infinity]), trial: choices([-1, -1]) })!,
    Math.log(2),
  );
});

Deno.test("without both sides' log-likelihoods, or with NaN, there is no KL over choices", () => {
  const told = choices([-1, -2]);
  assert.equal(choiceKl({ original: told, trial: sample() }), null);
  assert.equal(choiceKl({ original: told, trial: choices([-1, -2, -3]) }), null);
  assert.equal(choiceKl({ original: told, trial: choices([-1, NaN]) }), null);
  assert.equal(choiceKl({ original: choices([-1]), trial: choices([-1]) }), null);
});

Deno.test("an answer has changed by the choice, by what was read, by what was written; else nobody knows", () => {
  const changed = (original: Partial<SampleResult>, trial: Partial<SampleResult>) =>
    changedAnswer({ original: sample(original), trial: sample(trial) });
  assert.equal(changed({ chosen: 1 }, { chosen: 2 }), true);
  assert.equal(changed({ chosen: 0, answer: "a" }, { chosen: 0, answer: "b" }), false);
  const written = { answer: "so it is 4", parsed_answer: "4" };
  assert.equal(changed(written, { answer: "that is 4", parsed_answer: "4" }), false);
  assert.equal(changed(written, { answer: "5?", parsed_answer: null }), true);
  assert.equal(changed({ answer: "x" }, { answer: "y" }), true);
  assert.equal(changed({}, {}), null);
  // Of a likelihood alone only the right answer is known: two wrong ones may be two answers.
  const right = { answer: "dog", parsed_answer: "dog", score: 1 };
  assert.equal(changed(right, { score: 0 }), true);
  assert.equal(changed({ score: 0 }, { score: 0 }), null);
});

Deno.test("a flip is a score that turns, either way; a score in between is none", () => {
  const turn = (from: number, to: number) =>
    flipped({ original: sample({ score: from }), trial: sample({ score: to }) });
  assert.deepEqual([turn(1, 0), turn(0, 1), turn(1, 1), turn(0, 0)], [true, true, false, false]);
  assert.equal(turn(0.5, 1), null);
});

Deno.test("Student's t has the tables' 97.5 % points", () => {
  // scipy.stats.t.ppf(0.975, f), 1.17
  const table = [[1, 12.706204736174694], [2, 4.302652729749464], [5, 2.570581835636314], [
    30,
    2.0422724563012378,
  ], [1000, 1.9623390808264078]];
  for (const [freedom, wanted] of table) near(t975(freedom!), wanted!, 1e-9);
  assert.throws(() => t975(0), RangeError);
});

Deno.test("Wilson's interval is that of the literature, and never leaves 0 to 1", () => {
  const [low, high] = wilsonInterval(0.1, 100);
  near(low, 0.05522914, 1e-7);
  near(high, 0.17436566, 1e-7);
  assert.equal(wilsonInterval(0, 10)[0], 0);
  assert.ok(wilsonInterval(0, 10)[1] > 0.2);
});

/** A standard normal number. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

Deno.test("the interval of a mean KL covers as often as it says where windows differ and tails are heavy", () => {
  // deciding.md 3.4: lognormal tokens (σ 2), window effect 0.5, 256 tokens: 93.0 % of 3,000 at 20
  // windows. Here tokens' mean of a window is drawn as a lognormal of the same variance.
  const random = seededRandom(20261122);
  const tokenVariance = Math.log1p((Math.exp(4) - 1) / 256);
  const spread = Math.sqrt(0.25 + tokenVariance);
  const truth = Math.exp(spread ** 2 / 2);
  let covered = 0;
  const studies = 1000;
  for (let study = 0; study < studies; study++) {
    const x = Array.from({ length: 20 }, () => Math.exp(spread * normal(random)));
    const value = x.reduce((sum, one) => sum + one, 0) / 20;
    const variance = x.reduce((sum, one) => sum + (one - value) ** 2, 0) / 19;
    const [low, high] = meanKlInterval({ value, standard_error: Math.sqrt(variance / 20), n: 20 })!;
    if (low <= truth && truth <= high) covered++;
  }
  assert.ok(covered / studies > 0.91 && covered / studies < 0.97, `${covered} of ${studies}`);
});

Deno.test("a mean of 0, or of one window, has no interval; a share has Wilson's", () => {
  assert.equal(meanKlInterval({ value: 0, standard_error: 0, n: 9 }), null);
  assert.equal(meanKlInterval({ value: 0.1, standard_error: null, n: 1 }), null);
  const flips = { metric: "flips", value: 0.1, standard_error: 0.03, n: 100 };
  assert.deepEqual(distanceInterval(flips), wilsonInterval(0.1, 100));
});

const plan = (task: string, weight?: number) => ({
  ...{ task, task_version: "1", metric: "accuracy", primary: true },
  ...(weight === undefined ? {} : { weight }),
});

const own = (task: string, n: number): Measurement => ({
  ...figure("accuracy", 0.5, null, 0.1),
  ...{ task, n, direction: "maximize", chance: 0.25 },
});

const evaluation = (samples: SampleResult[], measurements: Measurement[]): Evaluation => ({
  ...{ samples, measurements, protocol: {} },
});

Deno.test("rows by task and over tasks: the weighed mean, with what each was read from", () => {
  const of = (task: string, i: number, values: number[], score: number) =>
    choices(values, { task, sample_hash: `${task}${i}`, score });
  const rows = [own("a", 2), own("b", 1)];
  const original = evaluation(
    [of("a", 0, [-1, -2], 1), of("a", 1, [-2, -1], 0), of("b", 0, [-1, -2], 1)],
    rows,
  );
  const trial = evaluation(
    [of("b", 0, [-1, -2], 1), of("a", 1, [-2, -1], 0), of("a", 0, [-2, -1], 0)],
    rows,
  );
  const found = distanceRows({ tasks: [plan("a"), plan("b", 3)] }, original, trial);
  const value = (metric: string, task: string | null) =>
    found.find((row) => row.metric === metric && row.task === task)!;
  near(value("flips", "a").value, 0.5);
  near(value("flips", "b").value, 0);
  near(value("flips", null).value, 0.125);
  assert.equal(value("flips", null).n, 3);
  assert.equal(value("changed_answers", "a").value, 0.5);
  const kl = (Math.E - 1) / (Math.E + 1); // of (p, 1 − p) and its mirror: (2p − 1) ln(p / (1 − p))
  near(value("choice_kl", "a").value, kl / 2);
  assert.equal(value("choice_kl", null).unit, "nats/sample");
  assert.equal(value("flips", "a").direction, "minimize");
  assert.equal("chance" in value("flips", "a"), false);
  assert.equal(value("flips", "b").standard_error, null); // one sample has none
  assert.equal(value("flips", null).standard_error, null);
  const zero = distanceRows({ tasks: [plan("a")] }, original, original);
  assert.ok(zero.length === 6 && zero.every((row) => row.value === 0));
});

Deno.test("a task some of whose samples do not tell has no figure of them, as the rest would flatter", () => {
  const rows = [own("t", 2)];
  const told = [choices([-1, -2], { sample_hash: "0" }), choices([-1, -2], { sample_hash: "1" })];
  const half = [told[0]!, choices([-1, NaN], { sample_hash: "1" })];
  const found = distanceRows(
    { tasks: [plan("t")] },
    evaluation(told, rows),
    evaluation(half, rows),
  );
  assert.deepEqual(found.filter(({ metric }) => metric === "choice_kl"), []);
  assert.ok(found.some(({ metric }) => metric === "flips"));
  assert.equal(answeredTwice(told, told).length, 2);
});

Deno.test("a gate ends a trial that is surely above it, and decides nothing where the interval spans it", () => {
  const row = (value: number, n: number): Measurement => ({
    ...figure("flips", value, null, null),
    ...{ n, fidelity: "proxy" },
  });
  const decide = (value: number, n: number) =>
    distanceGates([{ metric: "flips", most: 0.2 }], [row(value, n)], "proxy")[0]!;
  assert.equal(decide(0.3, 400).decision, "abort");
  assert.equal(decide(0.3, 20).decision, "pass");
  assert.match(decide(0.3, 20).reason, /not surely above 0\.2$/);
  assert.match(decide(0.1, 400).reason, /^flips on the proxy, n 400, is 0\.100 .* within 0\.2$/);
  assert.deepEqual(distanceGates([{ metric: "kl", most: 1 }], [row(0.3, 9)], "proxy"), []);
});

Deno.test("a study has the figures of every rung, the baseline's 0, and a front of them", async () => {
  const w = world({ front: ["flips", "size"], max_trials: 6, max_full_evaluations: 6 });
  const { spec } = w.input();
  assert.deepEqual(spec.objectives.map(({ metric }) => metric), ["flips", "size_bytes"]);
  const { trials, front } = await run(w);
  const baseline = trials.find(({ strategy }) => strategy === null)!;
  const flips = (rows: readonly Measurement[], fidelity: string) =>
    rows.findLast((row) => row.metric === "flips" && row.task === null && row.fidelity === fidelity)
      ?.value;
  assert.equal(flips(baseline.measurements, "proxy"), 0);
  assert.equal(flips(baseline.measurements, "full"), 0);
  const full = trials.filter(({ fidelity, strategy }) => fidelity === "full" && strategy !== null);
  const scores = ({ trial_id }: { trial_id: string }) =>
    w.stored.find((one) => one.trial_id === trial_id && one.fidelity === "full")!.evaluation.samples
      .filter(({ task }) => task === "words").map(({ score }) => score);
  const before = scores(baseline);
  for (const trial of full) {
    const turned = scores(trial).filter((score, i) => score !== before[i]).length;
    near(flips(trial.measurements, "full")!, turned / before.length);
  }
  assert.ok(full.some(({ measurements }) => flips(measurements, "full")! > 0));
  const least = (some: typeof full) =>
    Math.min(...some.map(({ measurements }) => flips(measurements, "full")!));
  assert.equal(least(full.filter(({ trial_id }) => front.includes(trial_id))), least(full));
});

Deno.test("a gate on flips ends a trial on its first rung, and its decision is kept", async () => {
  // So much that the accuracy's own gate lets through ends here.
  const w = world(
    { gates: { flips: 0.01 }, max_trials: 3, constraints: { max_accuracy_drop: 1 } },
    {
      loss: (bits) => bits < 16 ? 0.3 : 0,
    },
  );
  const { trials } = await run(w);
  const tried = trials.filter(({ strategy }) => strategy !== null);
  assert.ok(tried.length > 0);
  for (const { state, gates } of tried) {
    assert.equal(state, "stopped");
    assert.equal(gates.find(({ gate }) => gate === "proxy_accuracy")?.decision, "pass");
    const decided = gates.find(({ gate }) => gate === "proxy_flips")!;
    assert.deepEqual([decided.decision, decided.threshold], ["abort", 0.01]);
  }
});

Deno.test("gates and fronts that no benchmark can serve are refused in one sentence", () => {
  const refused = (more: Parameters<typeof request>[0], message: RegExp) =>
    assert.throws(() => inferSpec(request(more), smallFacts(), plugins), {
      name: "UsageError",
      message,
    });
  refused({ gates: { flps: 0.1 } }, /^Unknown gate "flps"\. Did you mean "flips"\?/);
  refused({ gates: { flips: 2 } }, /^Cannot gate flips at 2 as it is a share, from 0 to 1$/);
  refused({ front: ["size", "latency"] }, /must name one quality.* kl, choice_kl, flips/);
  refused({ front: ["kl", "kl", "size"] }, /names kl twice/);
});
