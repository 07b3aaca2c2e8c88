/** Evaluations that end as soon as they are decided: what is looked at, what stops, what goes on. */
import assert from "node:assert/strict";
import {
  looksOf,
  pairedSequence,
  replayStudy,
  sampleKey,
  sampleOrder,
  type SampleResult,
  type Spec,
  type TaskPlan,
} from "../../../core/mod.ts";
import { historyOf, run, type World, world } from "../study_world.ts";

const bits = (count: number) => ({
  actions: [{ agent: "shrinking", method: "tune", params: { bits: count } }],
});

/** 4 bits lose nothing on the proxy and a fifth of the answers beyond it. */
const loss = (count: number, _: unknown, rung: string) => count === 4 && rung === "full" ? 0.25 : 0;

const samples = { proxy: 100, half: 400, full: 1600 };
const spec = (one: Spec): Spec => ({
  ...one,
  tasks: one.tasks.map((plan) => ({ ...plan, available_samples: 1600 })),
});
const asked = (until_decided: boolean) => ({
  strategies: [bits(4), bits(8)],
  max_trials: 2,
  ...(until_decided ? { until_decided } : {}),
});

const looks = (w: World) =>
  w.calls.filter(({ look }) => look !== undefined).map(({ recipe, look }) => [recipe, look]);

Deno.test("a trial that violates its constraint ends before all samples are read, one that keeps it does not", async () => {
  const w = world(asked(true), { loss, samples, spec });
  const { trials } = await run(w);
  const [, four, eight] = trials;
  assert.equal(four!.state, "stopped");
  assert.equal(four!.fidelity, "proxy", "its figures are those of the last whole rung");
  const gate = four!.gates.at(-1)!;
  assert.deepEqual([gate.gate, gate.decision, gate.threshold], ["full_accuracy", "abort", 0.02]);
  assert.match(
    gate.reason,
    /with the original's answers\), above 0\.02: decided after \d+, \d+ of 1600 samples were not read$/,
  );
  assert.equal(gate.samples! + gate.unread!, 1600, "what was read, and what was saved");
  assert.ok(gate.expected! > 0, "what it would take was told before");
  const verdict = four!.constraints[0]!;
  assert.equal(verdict.verdict, "violated");
  assert.ok(verdict.evidence!.samples < 1600);
  assert.equal(verdict.evidence!.predictor, "answers");
  assert.ok(verdict.evidence!.explained! > 0, "what is right can only be lost");
  assert.ok(four!.reward!.value < -1, "a sampler learns of it");
  assert.equal(eight!.state, "completed");
  assert.equal(eight!.fidelity, "full");
  const full = eight!.measurements.filter(({ fidelity, task }) => fidelity === "full" && task);
  assert.ok(full.some(({ n }) => n === 1600), "points of a front share their samples");
  const own = looks(w).filter(([recipe]) => String(recipe).includes('"bits":8'));
  assert.ok(own.length > 1, "it was looked at on the way");
});

/** Recipes that lose next to nothing, and a last one that loses more, where the front is of accuracy alone. */
async function withUnlikely(until_decided: boolean) {
  const round = (count: number, group_size: number, symmetric: boolean) => ({
    actions: [{
      ...{ agent: "shrinking", method: "round" },
      params: { bits: count, group_size, symmetric, targets: "both" },
    }],
  });
  const strategies = [
    ...[8, 4, 3].flatMap((count) =>
      [32, 64].flatMap((size) => [true, false].map((symmetric) => round(count, size, symmetric)))
    ),
    round(2, 32, true),
  ];
  const w = world(
    {
      ...{ strategies, max_trials: 13, constraints: { max_accuracy_drop: 0.5 } },
      ...{ max_full_evaluations: 20, until_decided },
    },
    {
      // On the proxy nothing shows.
      loss: (count, _, rung) => rung !== "full" ? 0 : count === 2 ? 0.2 : 0.001 * count,
      samples,
      spec: (one) => ({
        ...spec(one),
        objectives: one.objectives.filter(({ metric }) => metric === "accuracy"),
      }),
    },
  );
  const { trials } = await run(w);
  return { w, last: trials.at(-1)! };
}

Deno.test("a trial that a look shows to be dominated ends there, as a result of the rung below", async () => {
  const { w, last } = await withUnlikely(true);
  assert.deepEqual([last.state, last.fidelity], ["completed", "proxy"], JSON.stringify(last.gates));
  const gate = last.gates.at(-1)!;
  assert.deepEqual([gate.gate, gate.decision], ["joins_front", "abort"]);
  assert.match(
    gate.reason,
    /^P\(joins the front\) is 0\.0\d+, below 0\.02, by \d+ samples in full, .*: stopped; \d+ of 1600 samples were not read$/,
  );
  assert.ok(gate.dominated_by !== undefined && gate.unread! >= 400);
  assert.ok(last.reward !== null && last.reward.value > 0, "nothing of it is broken");
  const read = looks(w).filter(([recipe]) => String(recipe).includes('"bits":2'));
  assert.ok(read.length >= 1);
  const whole = await withUnlikely(false);
  assert.deepEqual([whole.last.state, whole.last.fidelity], ["completed", "full"]);
});

Deno.test("with one rung alone the first look is at a hundred samples, and its end is learned from", async () => {
  const w = world({ ...asked(true), fidelity: "full" }, { loss, samples, spec });
  const { trials } = await run(w);
  assert.deepEqual(looks(w)[0]![1], 100);
  const four = trials[1]!;
  assert.deepEqual([four.state, four.fidelity], ["stopped", null]);
  assert.equal(four.constraints[0]!.verdict, "violated");
  assert.ok(four.reward!.value < -1);
});

Deno.test("a study of perplexity reads all its samples: nothing bounds a difference", async () => {
  const perplexity = (one: Spec): Spec => ({
    ...spec(one),
    objectives: [
      { metric: "perplexity", direction: "minimize", unit: "1" },
      ...one.objectives.slice(1),
    ],
    tasks: one.tasks.map((plan) => ({ ...plan, primary: plan.task === "words_text" })),
  });
  const w = world(asked(true), { loss, samples, spec: perplexity });
  await run(w);
  assert.deepEqual(looks(w), []);
});

Deno.test("without being asked for, every evaluation reads all samples of its rung", async () => {
  const w = world(asked(false), { loss, samples, spec });
  const { trials } = await run(w);
  assert.deepEqual(looks(w), []);
  assert.equal(trials[1]!.state, "completed");
  assert.equal(trials[1]!.constraints[0]!.verdict, "violated");
});

Deno.test("deciding early costs less time than reading all", async () => {
  const seconds = async (until_decided: boolean) => {
    const w = world(asked(until_decided), { loss, samples, spec });
    const { trials } = await run(w);
    return trials[1]!.spans.filter(({ phase }) => phase === "full")
      .reduce((sum, span) => sum + span.seconds, 0);
  };
  const [with_looks, whole] = [await seconds(true), await seconds(false)];
  assert.ok(with_looks < whole / 2, `${with_looks} s of ${whole} s`);
});

Deno.test("where a process takes long to start, looks lie further apart or are left out", async () => {
  const eights = { ...asked(true), strategies: [bits(8), bits(4), bits(3)], max_trials: 3 };
  const looked = async (fixed: number) => {
    const lost = (count: number) => count === 4 ? 0.25 : 0;
    const w = world(eights, {
      ...{ samples, spec, sample_seconds: 0.04, fixed },
      loss: (count, _, rung) => rung === "full" ? lost(count) : 0,
    });
    await run(w);
    const of = (count: number) =>
      looks(w).filter(([recipe]) => String(recipe).includes(`"bits":${count}`)).map(([, n]) => n);
    assert.deepEqual(of(3), of(8));
    const first = of(8).slice(0, 1);
    assert.deepEqual(of(4), first, "looks of the trial before were no longer start; one decides");
    return of(8);
  };
  const [near, far, none] = [await looked(0.1), await looked(5), await looked(20)];
  assert.ok(near.length > far.length && far.length > none.length, `${[near, far, none]}`);
  assert.deepEqual(none, [], "20 s are 500 samples: a look after 2,100 of 1,600");
});

Deno.test("a look that fails ends the trial by its own name, and a killed study goes on", async () => {
  const failing = world(asked(true), {
    ...{ loss, samples, spec },
    disturb: ({ look }) =>
      look === undefined
        ? null
        : { kind: "bad_input", message: "no answers", hint: null, phase: null },
  });
  const { trials } = await run(failing);
  assert.deepEqual(trials.slice(1).map(({ state }) => state), ["failed", "failed"]);
  const w = world(asked(true), { loss, samples, spec });
  await run(w);
  const closed = w.records.findIndex((one) =>
    one.type === "trial_closed" && one.trial.state === "stopped"
  );
  const again = world(asked(true), { loss, samples, spec });
  const history = historyOf(w, closed + 1);
  const resumed = await run(again, { history });
  assert.equal(replayStudy(w.records, "study")!.trials.length, 3);
  assert.deepEqual(resumed.trials.map(({ state }) => state), ["completed", "stopped", "completed"]);
});

Deno.test("a study that began before the original's answers were used goes on by scores alone", async () => {
  const { predictor: _, ...before } = spec(world().input().spec);
  const old = world(asked(true), { loss, samples, spec: () => before });
  await run(old);
  const closed = old.records.findIndex((one) =>
    one.type === "trial_closed" && one.trial.strategy === null
  );
  const again = world(asked(true), { loss, samples, spec });
  const { trials } = await run(again, { history: historyOf(old, closed + 1) });
  const [whole, gone_on] = [replayStudy(old.records, "study")!.trials, trials]
    .map((all) => all.map(({ gates, constraints }) => ({ gates, constraints })));
  assert.deepEqual(gone_on, whole);
  assert.equal(trials[1]!.constraints[0]!.evidence!.predictor, undefined);
});

function results(task: string, n: number): SampleResult[] {
  return Array.from({ length: n }, (_, i) => ({
    ...{ task, sample_id: String(i), sample_hash: `${task}-${i}`, prompt_hash: "", score: 1 },
    ...{ answer: null, gold: null, log_likelihood: null },
  }));
}

const plan = (task: string, more: Partial<TaskPlan> = {}): TaskPlan => ({
  ...{ task, task_version: "1", primary: true },
  ...more,
});

Deno.test("looks hold what lower rungs have read, grow twofold and leave a quarter to save", () => {
  const all = results("a", 1000);
  const order = sampleOrder([{ plan: plan("a", { available_samples: 1000 }), samples: all }]);
  assert.equal(order.placed.length, 1000);
  const lower = all.slice(0, 100);
  const looks = looksOf(order, lower);
  assert.ok(looks.length === 2, "at 200 and 400 of the order");
  for (const [i, { a: rows }] of looks.entries()) {
    assert.ok(lower.every(({ sample_id }) => rows!.includes(Number(sample_id))));
    assert.ok(rows!.length >= 200 * 2 ** i && rows!.length < 200 * 2 ** i + 100);
  }
  const firsts = (start: number) => looksOf(order, lower, start).map(({ a: rows }) => rows!.length);
  const [slow, next, ...none] = firsts(50);
  assert.ok(slow! >= 300 && slow! < 370, "four starts apart: after 300 of the order, then 600");
  assert.ok(next! >= 600 && none.length === 0);
  assert.deepEqual(firsts(200), [], "900 samples to the first look leave too little to save");
  assert.deepEqual(looksOf(order, all), [], "all is read already");
  assert.deepEqual(looksOf(sampleOrder([]), []), []);
});

Deno.test("the order of samples depends on their content alone, and tasks share it by weight", () => {
  const tasks = [
    { plan: plan("a", { available_samples: 300 }), samples: results("a", 300) },
    { plan: plan("b", { available_samples: 100, weight: 3 }), samples: results("b", 100) },
  ];
  const order = sampleOrder(tasks);
  const turned = sampleOrder(tasks.map((one) => ({ ...one, samples: one.samples.toReversed() })));
  const keys = (one: typeof order) => one.placed.map(({ sample }) => sampleKey(sample));
  assert.deepEqual(keys(turned), keys(order));
  assert.equal(order.existing, 400);
  const scores = new Map(keys(order).map((key) => [key, 1]));
  assert.equal(pairedSequence(order, scores)!.n, 400);
  const { batch } = order.placed[120]!;
  scores.delete(keys(order)[120]!);
  const before = order.placed.filter((one) => one.batch < batch).length;
  assert.equal(pairedSequence(order, scores)!.n, before, "up to the batch that lacks one");
  scores.set(keys(order)[0]!, 7);
  assert.equal(pairedSequence(order, scores), null, "no score from 0 to 1");
});
