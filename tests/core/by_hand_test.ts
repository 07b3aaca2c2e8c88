/** The loop's arrows taken by hand: the same records as the coordinator's, and refusals in words. */
import assert from "node:assert/strict";
import {
  type HeldPart,
  openByHand,
  replayStudy,
  type TrialByHand,
  UsageError,
} from "../../core/mod.ts";
import { historyOf, run, type World, world } from "./study_world.ts";

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

Deno.test("episodes by hand leave the records that the coordinator leaves", async () => {
  const auto = world({ max_trials: 4 });
  await run(auto);
  const w = world({ max_trials: 4 });
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  for (let episode = 0; episode < 4; episode++) {
    const trial = await study.begin((await study.propose())!);
    while (trial.ended === null && trial.trial.artifact_ids.length < trial.trial.actions.length) {
      await trial.apply();
    }
    await trial.evaluate();
    if (trial.ended === null) await trial.measure();
    await trial.learn();
  }
  await study.close();
  const own = w.records.slice(0, -1);
  assert.deepEqual(own, auto.records.slice(0, own.length));
  assert.deepEqual(own.map(({ type }) => type), auto.records.slice(0, -1).map(({ type }) => type));
  assert.equal(w.records.at(-1)?.type, "study_closed");
});

const chain = [
  { agent: "shrinking", method: "tune", params: { bits: 4 } },
  { agent: "shrinking", method: "round", params: { bits: 8, targets: "embedding" } },
];

Deno.test("bytes, and what a token reads of them, are told of a recipe before any work", async () => {
  const w = world();
  const reads = ({ stored_bytes }: HeldPart) => stored_bytes; // as the weights are stored
  const methods = w.input().methods.map((one) => ({ ...one, reads }));
  const study = await openByHand(w.input({ methods }), w.ports);
  await study.baseline();
  const calls = w.calls.length;
  const { beforehand, ...recipe } = study.recipe(chain);
  assert.equal(w.calls.length, calls);
  assert.ok(
    beforehand.read_ratio! > 0.2 && beforehand.read_ratio! < 0.5,
    `${beforehand.read_ratio}`,
  );
  const trial = await study.run({ ...recipe, beforehand });
  const size = trial.measurements.find(({ metric }) => metric === "size_bytes")!;
  assert.equal(size.value, beforehand.size_bytes);
  const untold = await openByHand(world().input(), world().ports);
  assert.equal(untold.recipe(chain).beforehand.read_ratio, null, "the runtime does not tell");
});

Deno.test("what cannot be yet is refused in words, and nothing is recorded of it", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await assert.rejects(study.propose(), refused(/baseline is not measured: call baseline\(\)/));
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  const before = w.records.length;
  const early = /0 of 2 actions are applied: call apply\(\) first/;
  await assert.rejects(trial.evaluate(), refused(early));
  await assert.rejects(trial.measure(), refused(early));
  await assert.rejects(trial.learn(), refused(early));
  assert.equal(w.records.length, before);
  await trial.apply();
  await assert.rejects(trial.measure(), refused(/1 of 2 actions/));
  await trial.apply();
  await assert.rejects(trial.apply(), refused(/every action is applied/));
  await assert.rejects(trial.learn(), refused(/not evaluated: call evaluate\(\)/));
  await trial.evaluate();
  await assert.rejects(trial.learn(), refused(/speed is not measured: call measure\(\)/));
  await trial.measure();
  const closed = await trial.learn();
  assert.equal(closed.state, "completed");
  await assert.rejects(trial.evaluate(), refused(/it is closed: completed/));
});

Deno.test("an artifact is evaluated and gated in the midst of a chain, its figures kept apart", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  const verified = await trial.apply();
  const parent = trial.trial.artifact_ids[0]!;
  assert.deepEqual(
    [
      verified?.gate,
      verified?.action_index,
      verified?.attempt,
      verified?.artifact_id,
      verified?.parent_id,
    ],
    ["verification", 0, 1, parent, "base"],
  );
  const gate = await trial.evaluate();
  assert.deepEqual([gate?.gate, gate?.decision, gate?.action_index], ["proxy_accuracy", "pass", 0]);
  assert.deepEqual(trial.trial.measurements, [], "the figures of a trial are its finished model's");
  const staged = w.records.find(({ type }) => type === "action_evaluated");
  assert.ok(staged?.type === "action_evaluated");
  assert.deepEqual([staged.action_index, staged.artifact_id], [0, parent]);
  assert.ok(staged.measurements.some(({ metric, task }) => metric === "accuracy" && task === null));
  const second = await trial.apply();
  assert.deepEqual([second?.action_index, second?.parent_id], [1, parent]);
  await trial.evaluate();
  await trial.measure();
  const { gates, fidelity } = await trial.learn();
  assert.equal(fidelity, "full");
  assert.deepEqual(gates.map(({ gate, action_index }) => [gate, action_index]), [
    ["verification", 0],
    ["proxy_accuracy", 0],
    ["verification", 1],
    ["proxy_accuracy", 1],
  ]);
});

Deno.test("a gate in the midst of a chain stops the trial there", async () => {
  const w = world({}, { loss: (_, actions) => actions.length === 0 ? 0 : 0.6 });
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  await trial.apply();
  assert.equal((await trial.evaluate())?.decision, "abort");
  assert.equal(trial.ended?.state, "stopped");
  await assert.rejects(trial.apply(), refused(/it ended: accuracy drop.*call learn\(\)/));
  const { state, fidelity } = await trial.learn();
  assert.deepEqual([state, fidelity], ["stopped", null]);
});

Deno.test("closing a study by hand abandons what is open; a recipe of a wrong name is refused", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  assert.throws(() => study.recipe([{ ...chain[0]!, method: "tuen" }]), refused(/Did you mean/));
  const trial = await study.begin(study.recipe(chain));
  await trial.apply();
  const { trials, stop, message } = await study.close();
  assert.equal(trials.at(-1)?.state, "cancelled");
  assert.equal(trial.trial.state, "cancelled");
  assert.deepEqual([stop, message], ["by_hand", "The study was driven by hand and closed."]);
});

/** A study with its baseline, and a trial of the chain applied to its end. */
async function applied(w: World) {
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  for (const _ of chain) await trial.apply();
  return { study, trial };
}

/** The rest of a trial. */
async function finished(trial: TrialByHand) {
  await trial.evaluate();
  await trial.measure();
  return await trial.learn();
}

Deno.test("a closed study takes no call, gives its result again, and is left once", async () => {
  const w = world();
  const { study, trial } = await applied(w);
  const result = await study.close();
  assert.equal(await study.close(), result);
  await study[Symbol.asyncDispose]();
  assert.equal(w.records.filter(({ type }) => type === "study_closed").length, 1);
  await assert.rejects(study.propose(), refused(/propose a recipe as the study is closed/));
  await assert.rejects(trial.evaluate(), refused(/evaluate study\/t01 as the study is closed/));
});

Deno.test("a study by hand that is cancelled ends as any that is, and its recipe waits", async () => {
  const w: World = world({}, {
    disturb: ({ call, trial_id }) => {
      if (call === "evaluate" && trial_id.endsWith("t01")) w.abort.abort();
    },
  });
  const { study, trial } = await applied(w);
  assert.equal(await trial.evaluate(), null);
  assert.match(trial.ended!.reason, /cancelled during proxy/);
  const before = w.records.length;
  const over = refused(/as the study was cancelled: close\(\) it and resume it/);
  for (const call of [study.baseline, study.propose, trial.learn, trial.measure]) {
    await assert.rejects(call(), over);
  }
  await assert.rejects(study.begin(study.recipe(chain)), over);
  assert.equal(w.records.length, before);
  assert.equal((await study.close()).stop, "cancelled");
  assert.equal(trial.trial.state, "cancelled");
  const more = world();
  await run(more, { history: historyOf(w) });
  const next = more.records.find(({ type }) => type === "trial_opened");
  assert.deepEqual(next?.type === "trial_opened" && next.strategy?.actions, chain);
});

Deno.test("a baseline that is cancelled says so, and another is not begun", async () => {
  const w: World = world({}, { disturb: () => w.abort.abort() });
  const study = await openByHand(w.input(), w.ports);
  const over = refused(/measure the baseline as the study was cancelled: close\(\) it/);
  await assert.rejects(study.baseline(), over);
  await assert.rejects(study.baseline(), over);
  assert.deepEqual((await study.close()).trials.map(({ state }) => state), ["cancelled"]);
});

Deno.test("one call is made at a time; what is asked twice is refused", async () => {
  const w = world();
  const { study, trial } = await applied(w);
  const going = trial.evaluate();
  await assert.rejects(
    trial.measure(),
    refused(/measure study\/t01 as the call before it is not done.*was to evaluate study\/t01/),
  );
  await going;
  await assert.rejects(trial.evaluate(), refused(/this artifact is evaluated already: proxy/));
  const wrong = "ful" as "full"; // a notebook's cells are not checked for types
  await assert.rejects(trial.evaluate(wrong), refused(/Did you mean "full"/));
  await trial.evaluate("full");
  await assert.rejects(trial.evaluate("proxy"), refused(/evaluated already: full/));
  await trial.measure();
  await assert.rejects(trial.measure(), refused(/its speed is measured/));
  const { measurements } = await trial.learn();
  const names = measurements.map((row) => JSON.stringify([row.metric, row.task, row.fidelity]));
  const speeds = measurements.filter(({ metric }) => metric === "latency_ms");
  assert.equal(speeds.length, 1);
  assert.ok(new Set(names).size > 5);
  await study.close();
});

Deno.test("an artifact in the midst of a chain is evaluated once at a fidelity", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  await trial.apply();
  await trial.evaluate();
  await assert.rejects(trial.evaluate(), refused(/this artifact is evaluated already: proxy/));
  assert.equal((await trial.evaluate("full"))?.action_index, 0);
  await trial.apply();
  assert.equal((await trial.evaluate())?.action_index, 1);
});

Deno.test("the search's limits end no recipe that is asked by hand", async () => {
  const w = world({ max_trials: 1, budget_seconds: 60 });
  const { study, trial } = await applied(w);
  await finished(trial);
  w.clock.advance(600);
  const more = [{ agent: "shrinking", method: "round", params: { bits: 4, group_size: 32 } }];
  const other = await study.run(study.recipe(more));
  assert.deepEqual([other.state, other.fidelity], ["completed", "full"]);
  assert.equal(await study.episode(), null, "the search itself keeps to them");
});

Deno.test("what is no recipe is refused", async () => {
  const w = world();
  const { study, trial } = await applied(w);
  await finished(trial);
  assert.throws(() => study.recipe([]), refused(/Cannot take the recipe as it is wrong/));
  const text = "rtn" as unknown as typeof chain;
  assert.throws(() => study.recipe(text), refused(/give a list of \{ agent, method, params \}/));
  await assert.rejects(study.begin(null!), refused(/propose\(\) has nothing left/));
  const action = chain as unknown as ReturnType<typeof study.recipe>;
  await assert.rejects(study.begin(action), refused(/give what propose\(\) or recipe/));
});

Deno.test("the loop does not propose again what was begun by hand", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const { actions } = (await study.propose())!;
  const other = world();
  const second = await openByHand(other.input(), other.ports);
  await second.baseline();
  await second.begin(second.recipe(actions));
  assert.notDeepEqual((await second.propose())!.actions, actions);
});

Deno.test("proposals of one episode ask the samplers anew, each asking with its own number", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  while (await study.propose() !== null);
  const asks = w.records.flatMap((one) => one.type === "proposed" ? [[one.number, one.ask]] : []);
  assert.ok(asks.length > 2);
  assert.deepEqual(asks, asks.map((_, ask) => [1, ask]));
});

Deno.test("pauses between calls are nobody's work: not of the budget, nor of a trial", async () => {
  const w = world({ budget_seconds: 1000 });
  const study = await openByHand(w.input(), w.ports);
  w.clock.advance(5000);
  await study.baseline();
  w.clock.advance(0.5); // a script's own time
  const trial = await study.begin(study.recipe(chain));
  for (const _ of chain) {
    w.clock.advance(2000);
    await trial.apply();
  }
  const closed = await finished(trial);
  assert.equal(closed.state, "completed");
  const paused = w.records.filter((record) => record.type === "pause_ended");
  assert.deepEqual(paused.map(({ seconds }) => seconds), [5000, 2000, 2000]);
  const spans = closed.spans.reduce((sum, { seconds }) => sum + seconds, 0);
  assert.ok(spans < 1000, `${spans} s of the trial`);
  w.clock.advance(10_000);
  assert.ok(await study.propose() !== null, "the budget is not used");
  w.clock.advance(10_000);
  await study.close();
  const day = w.clock.now() + 86_400_000;
  const note = { type: "note", study_id: "study", trial_id: null, note_id: "n", text: "good" };
  const at = new Date(day).toISOString();
  const replayed = replayStudy(
    [...w.records, { ...note, at } as typeof w.records[number]],
    "study",
  )!;
  assert.ok(
    replayed.spent_seconds > 10 && replayed.spent_seconds < 1000,
    `${replayed.spent_seconds}`,
  );
});

Deno.test("a trial that was killed in a pause took what was worked on it", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  w.clock.advance(7000);
  await trial.apply();
  const [open] = replayStudy(w.records, "study")!.open;
  assert.equal(open!.paused_seconds, 7000);
  const more = world();
  const { trials } = await run(more, { history: historyOf(w) });
  const killed = trials.find(({ trial_id }) => trial_id === trial.trial.trial_id)!;
  assert.equal(killed.state, "cancelled");
  const [span] = killed.spans;
  assert.ok(span!.seconds >= 10 && span!.seconds < 100, `${span!.seconds} s`);
});
