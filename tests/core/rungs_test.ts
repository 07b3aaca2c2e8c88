/** The ladder: what a request makes of it, how trials climb it, and studies of before there was one. */
import assert from "node:assert/strict";
import {
  checkRungs,
  climbedRungs,
  type Evaluation,
  higherRung,
  openByHand,
  planRungs,
  replayStudy,
  Spec,
  type StudyHistory,
  type StudyRequestInput,
  type Trial,
  UsageError,
  withoutTasks,
} from "../../core/mod.ts";
import { request, tasks } from "./spec_fixtures.ts";
import { mayJoin } from "./front_rivals.ts";
import { figure, run, type World, world } from "./study_world.ts";

const THREE = { samples: { proxy: 100, full: 400, between: [{ fidelity: "half", samples: 200 }] } };
const two = tasks.filter(({ name }) => name === "words" || name === "sums");

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

/** Rungs of each trial's evaluations, in order. */
function climbs(w: World): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { call, trial_id, fidelity } of w.calls) {
    if (call === "evaluate") found.set(trial_id, [...found.get(trial_id) ?? [], fidelity!]);
  }
  return found;
}

function historyOf(w: World, count = w.records.length): StudyHistory {
  const study = replayStudy(w.records.slice(0, count), "study")!;
  const evaluations = w.stored.map(({ trial_id, fidelity, evaluation }) => ({
    ...{ trial_id, fidelity, samples: evaluation.samples, protocol: evaluation.protocol },
  }));
  return { study, evaluations };
}

/** A recipe of one action that leaves so many bits. */
const bits = (count: number) => ({
  actions: [{ agent: "shrinking", method: "tune", params: { bits: count } }],
});

/** The first trial of a recipe that leaves so many bits. */
function ofBits(trials: readonly Trial[], count: number): Trial {
  return trials.find(({ actions }) =>
    actions.length === 1 && actions[0]!.params["bits"] === count
  )!;
}

Deno.test("a trial climbs rung by rung, and the baseline is measured on every one", async () => {
  const w = world({ ...THREE, max_trials: 4 });
  const { trials, front } = await run(w);
  const found = climbs(w);
  assert.deepEqual(found.get(trials[0]!.trial_id), ["proxy", "half", "full"]);
  for (const { trial_id, fidelity } of trials) {
    const own = found.get(trial_id)!;
    assert.deepEqual(own, ["proxy", "half", "full"].slice(0, own.length));
    assert.equal(fidelity, own.at(-1), "the highest rung that it reached");
  }
  assert.ok(front.length > 1);
  const fidelities = new Set(trials.slice(1).map(({ fidelity }) => fidelity));
  assert.ok(fidelities.has("full"));
  const spans = trials[0]!.spans.map(({ phase }) => phase);
  assert.ok(["proxy", "half", "full"].every((rung) => spans.includes(rung)), spans.join());
});

Deno.test("a quality that falls on a rung between stops the trial there", async () => {
  const strategies = [bits(8), bits(4)];
  const loss = (count: number, _: unknown, rung: string) =>
    count === 4 && rung === "half" ? 0.5 : 0;
  const w = world({ ...THREE, strategies, max_trials: 2 }, { loss });
  const { trials, front } = await run(w);
  const stopped = ofBits(trials, 4);
  assert.equal(stopped.state, "stopped");
  assert.equal(stopped.fidelity, "half");
  assert.deepEqual(stopped.gates.map(({ gate, decision }) => [gate, decision]).slice(-2), [
    ["proxy_accuracy", "pass"],
    ["half_accuracy", "abort"],
  ]);
  assert.match(stopped.gates.at(-1)!.reason, /on \d+ half samples is 0\.\d+/);
  assert.ok(stopped.reward!.terms.some(({ term }) => term === "penalty"));
  assert.ok(!front.includes(stopped.trial_id));
});

Deno.test("a trial that a rung between shows to be dominated ends there as a result of it", async () => {
  const strategies = [bits(4), bits(8)];
  const loss = (count: number, _: unknown, rung: string) =>
    count === 8 && rung !== "proxy" ? 0.6 : 0;
  const constraints = { max_accuracy_drop: 0.9 }; // no gate and no verdict stands in the way
  const w = world({ ...THREE, strategies, constraints, max_trials: 2 }, { loss });
  const { trials, recommendation } = await run(w);
  const dominated = ofBits(trials, 8);
  assert.deepEqual([dominated.state, dominated.fidelity], ["completed", "half"]);
  assert.deepEqual(climbs(w).get(dominated.trial_id), ["proxy", "half"]);
  assert.equal(ofBits(trials, 4).fidelity, "full");
  assert.ok(!recommendation!.best.includes(dominated.trial_id));
});

Deno.test("where no full evaluation is left, no trial takes the rungs between either", async () => {
  const w = world({ ...THREE, max_full_evaluations: 1 });
  const { trials } = await run(w);
  const ended = trials.slice(1).filter(({ state }) => state === "completed");
  assert.deepEqual(new Set(ended.map(({ fidelity }) => fidelity)), new Set(["full", "proxy"]));
  assert.equal(ended.filter(({ fidelity }) => fidelity === "full").length, 1);
});

Deno.test("what an earlier run left on any rung below the last is taken up by a larger limit", async () => {
  const first = world({ ...THREE, max_full_evaluations: 6 });
  const before = await run(first);
  const left = before.trials.slice(1).filter(({ state, fidelity }) =>
    state === "completed" && fidelity !== "full"
  );
  assert.ok(left.some(({ fidelity }) => fidelity === "half"), "some were held on a rung between");
  assert.match(before.recommendation!.next.join(" "), /evaluated on (half|the proxy)/);
  const w = world({ ...THREE, max_full_evaluations: 12 });
  const { trials } = await run(w, { history: historyOf(first) });
  const again = trials.slice(before.trials.length)
    .filter(({ strategy }) => /again, now/.test(strategy!.origin.reason));
  const recipe = ({ actions }: Trial) => JSON.stringify(actions.map(({ params }) => params));
  const taken = (rung: string) =>
    again.filter((one) =>
      one.fidelity === "full" &&
      left.some((other) => other.fidelity === rung && recipe(other) === recipe(one))
    );
  assert.ok(taken("half").length > 0 && taken("proxy").length > 0);
  assert.deepEqual(trials.slice(0, before.trials.length), before.trials, "frozen");
  assert.ok(!climbs(w).has(trials[0]!.trial_id), "the baseline has every rung already");
});

Deno.test("a study that was killed on a rung between goes on there, under a new number", async () => {
  const strategies = [bits(8), bits(4)];
  const first = world({ ...THREE, strategies, max_trials: 2 });
  const whole = await run(first);
  const killed = ofBits(whole.trials, 4).trial_id;
  const cut = first.records.findIndex((one) =>
    one.type === "measured" && one.trial_id === killed &&
    one.measurements.some(({ fidelity }) => fidelity === "half")
  );
  const known = first.stored.findIndex((one) => one.trial_id === killed);
  const stored = first.stored.slice(0, known);
  const w = world({ ...THREE, strategies, max_trials: 2 });
  const { trials } = await run(w, { history: historyOf({ ...first, stored }, cut + 1) });
  const [cancelled, again] = trials.filter(({ strategy }) =>
    strategy !== null && JSON.stringify(strategy.actions).includes('"bits":4')
  );
  assert.equal(cancelled!.state, "cancelled");
  assert.deepEqual([again!.state, again!.fidelity], ["completed", "full"]);
  assert.deepEqual([...climbs(w).keys()], [again!.trial_id], "nothing else is evaluated again");
});

Deno.test("a study of one rung between evaluates on that alone, and claims no front", async () => {
  const w = world({ ...THREE, fidelity: "half", max_trials: 3 });
  const { trials, front, recommendation } = await run(w);
  assert.deepEqual(new Set([...climbs(w).values()].flat()), new Set(["half"]));
  assert.deepEqual(new Set(trials.map(({ fidelity }) => fidelity)), new Set(["half"]));
  assert.deepEqual(front, []);
  assert.match(recommendation!.next.join(" "), /Leave --fidelity half out .* on half only/);
});

Deno.test("by hand any rung of the study is taken by its name, and none below the one reached", async () => {
  const w = world({ ...THREE });
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(bits(8).actions));
  await trial.apply();
  await assert.rejects(
    trial.evaluate("hlaf"),
    refused(/Unknown fidelity "hlaf"\. Did you mean "half"\?/),
  );
  assert.equal((await trial.evaluate("half"))?.gate, "half_accuracy");
  assert.equal(trial.trial.fidelity, "half");
  await assert.rejects(
    trial.evaluate("proxy"),
    refused(/this artifact is evaluated already: half/),
  );
  await trial.measure();
  assert.equal((await trial.learn()).fidelity, "full", "learning climbs what is left");
  assert.deepEqual(climbs(w).get(trial.trial.trial_id), ["half", "full"]);
});

Deno.test("planRungs() gives each rung its samples of each task, none fewer than the one before", () => {
  const rungs = (samples: StudyRequestInput["samples"], more: Partial<StudyRequestInput> = {}) =>
    planRungs(two, request({ samples, ...more }))
      .map(({ fidelity, samples }) => [fidelity, samples["words"], samples["sums"]]);
  // Of words 100 and 200 are the task's own counts, of sums 100 and 1000.
  assert.deepEqual(rungs({ between: [{ fidelity: "half", by_task: { sums: 300 } }] }), [
    ["proxy", 100, 100],
    ["half", 100, 300],
    ["full", 200, 1000],
  ]);
  const ladder = [{ fidelity: "few", samples: 50 }, { fidelity: "most", samples: 500 }];
  assert.deepEqual(rungs({ between: ladder }), [
    ["proxy", 100, 100],
    ["few", 100, 100],
    ["most", 200, 500],
    ["full", 200, 1000],
  ]);
  const sampling = { limit: 30 };
  assert.deepEqual(rungs({ between: ladder }, { sampling }).map(([, words]) => words), [
    30,
    30,
    30,
    30,
  ]);
});

Deno.test("rungs that make no ladder are refused in words", () => {
  const check = (samples: StudyRequestInput["samples"], fidelity?: string) => () =>
    checkRungs(request({ samples, ...(fidelity === undefined ? {} : { fidelity }) }));
  const half = (more = {}) => ({ fidelity: "half", ...more });
  assert.throws(
    check({ proxy: 100, between: [half({ samples: 50 })] }),
    refused(/Cannot take 50 samples on the rung half as proxy, before it, takes 100: write rungs/),
  );
  assert.throws(
    check({ by_task: { sums: { full: 9 } }, between: [half({ by_task: { sums: 10 } })] }),
    refused(/Cannot take 9 samples on the rung full as half, before it, takes 10/),
  );
  assert.throws(check({ between: [half(), half()] }), refused(/the rung half between twice/));
  assert.throws(check({ between: [half()] }, "hafl"), refused(/"hafl"\. Did you mean "half"\?/));
  assert.throws(
    check({ between: [{ fidelity: "speed" }] }),
    /must be another name than proxy, full/,
  );
  assert.throws(check({ between: [{ fidelity: "../up" }] }), /small letters, digits and _/);
  const words = { between: [{ fidelity: "words" }] };
  assert.throws(
    () => planRungs(two, request({ samples: words })),
    refused(/Cannot call a rung words as a benchmark of this study is called so/),
  );
  // With two rungs the full evaluation's count bounds the proxy's, as in studies of before.
  assert.deepEqual(
    planRungs(two, request({ samples: { proxy: 50, full: 20 } })).map((one) => one.samples["sums"]),
    [20, 20],
  );
});

Deno.test("a spec of before there were rungs has the two that it counted with each task", () => {
  const { rungs: _, tasks: plans, ...rest } = world().input().spec;
  const old = {
    ...rest,
    tasks: plans.map((plan, i) => ({
      ...plan,
      proxy_samples: 10 + i,
      full_samples: i === 0 ? null : 90,
    })),
  };
  const read = Spec.parse(old);
  assert.deepEqual(read.tasks, plans);
  const [first, second] = plans.map(({ task }) => task) as [string, string];
  assert.deepEqual(read.rungs, [
    { fidelity: "proxy", samples: { [first]: 10, [second]: 11 } },
    { fidelity: "full", samples: { [first]: null, [second]: 90 } },
  ]);
  assert.deepEqual(Spec.parse(read), read, "and is read the same when it is written anew");
  const { proxy_samples: __, ...half } = old.tasks[0]!;
  assert.ok(!Spec.safeParse({ ...old, tasks: [half] }).success, "half of it is no spec");
  const named = (...names: string[]) =>
    Spec.safeParse({ ...read, rungs: names.map((fidelity) => ({ fidelity, samples: {} })) });
  assert.ok(named("full").success && named("tenth", "half", "full").success);
  for (const wrong of [[], ["proxy"], ["full", "half"], ["half", "half", "full"]]) {
    assert.ok(!named(...wrong).success, wrong.join());
  }
});

Deno.test("a ladder loses a task that is left out, and knows what is higher", () => {
  const { spec } = world({ ...THREE, dataset: "words" }).input();
  const [gone] = spec.tasks.filter(({ primary }) => !primary);
  const left = withoutTasks(spec, [{ task: gone!.task, reason: "broken" }]);
  assert.deepEqual(
    left.rungs.map(({ samples }) => Object.keys(samples)),
    spec.rungs.map(() => left.tasks.map(({ task }) => task)),
  );
  assert.equal(higherRung(spec, null, "proxy"), "proxy");
  assert.equal(higherRung(spec, "half", "proxy"), "half");
  assert.equal(higherRung(spec, "half", "full"), "full");
  const asked = { rungs: "asked" as const };
  assert.deepEqual(climbedRungs(spec, {}, asked), ["proxy", "half", "full"]);
  assert.deepEqual(climbedRungs(spec, { fidelity: "half" }, asked), ["half"]);
  assert.deepEqual(climbedRungs(spec, {}, { rungs: "last" }), ["full"]);
});

Deno.test("joinProbability() compares on the highest rung that both reached", () => {
  const { spec } = world(THREE).input();
  const scored = (n: number, right: number): Evaluation => ({
    measurements: [{ ...figure("accuracy", right / n, null, 0), task: "words", n }],
    samples: Array.from({ length: n }, (_, i) => ({
      ...{ task: "words", sample_id: `${i}`, sample_hash: `${i}`, prompt_hash: "" },
      ...{ score: i < right ? 1 : 0, answer: null, gold: null, log_likelihood: null },
    })),
    protocol: { words: "1" },
  });
  const latency = (ms: number) => ({
    ...{ ratio: null, log_error: 0, interval: null, ms, form: `${ms}`, sessions: 1 },
  });
  const evidence = (bytes: number, rungs: Record<string, Evaluation>) => ({
    measurements: [figure("size_bytes", bytes, null, 0)],
    latency: latency(bytes),
    evaluations: new Map(Object.entries(rungs)),
  });
  const proxy = scored(100, 60);
  const member = evidence(90, { proxy, half: scored(200, 120), full: scored(400, 240) });
  const alike = evidence(110, { proxy, half: scored(200, 119) });
  const worse = evidence(110, { proxy, half: scored(200, 60) });
  assert.equal(mayJoin(evidence(110, { proxy: scored(100, 59) }), [member], spec), true);
  assert.equal(mayJoin(alike, [member], spec), true, "perhaps as right");
  assert.equal(mayJoin(worse, [member], spec), false, "the rung between tells");
  const unlike = evidence(90, { full: scored(400, 240) });
  assert.equal(mayJoin(worse, [unlike], spec), true, "nothing to compare on");
});

const texts = tasks.filter(({ name }) => name === "words" || name === "words_text");

Deno.test("where its windows are counted, a rung of text alone comes first, and the next holds them", () => {
  const found = planRungs(texts, request({ samples: { kl: 16, proxy: 10, full: 400 } }));
  assert.deepEqual(found, [
    { fidelity: "kl", samples: { words_text: 16 } },
    { fidelity: "proxy", samples: { words: 10, words_text: 16 } },
    { fidelity: "full", samples: { words: 400, words_text: 400 } },
  ]);
  assert.throws(() => planRungs(two, request({ samples: { kl: 16 } })), {
    name: "UsageError",
    message: /^Cannot take 16 windows on the rung kl as no benchmark of this study is a text/,
  });
  const twice = { kl: 4, between: [{ fidelity: "kl", samples: 200 }] };
  assert.throws(() => planRungs(texts, request({ samples: twice })), /the rung kl between twice/);
});

Deno.test("the rung of text gates by the KL alone; a trial that passes climbs to the answers", async () => {
  const samples = { kl: 4 };
  const w = world({ samples, max_trials: 4 }, {
    samples: { kl: 40, proxy: 100, full: 400 },
    kl: (count) => count <= 3 ? 0.9 : 0.01,
  });
  const { spec } = w.input();
  assert.deepEqual(spec.gates, [{ metric: "kl", most: 0.5 }]);
  const { trials } = await run(w);
  for (const trial of trials.filter(({ strategy }) => strategy !== null)) {
    const gate = trial.gates.find((one) => one.gate === "kl_kl")!;
    const far = gate.value! > 0.5;
    assert.equal(gate.decision, far ? "abort" : "pass");
    assert.equal(trial.state === "stopped" && trial.fidelity === "kl", far);
    assert.equal(climbs(w).get(trial.trial_id)!.includes("proxy"), !far);
    assert.equal(gate.reason.startsWith("KL to the original on kl"), true);
  }
  assert.ok(trials.some(({ state }) => state === "stopped"));
  assert.ok(trials.some(({ fidelity, strategy }) => strategy !== null && fidelity !== "kl"));
});
