/** The loop's arrows taken by hand: the same records as the coordinator's, and refusals in words. */
import assert from "node:assert/strict";
import { openByHand, UsageError } from "../../core/mod.ts";
import { run, world } from "./study_world.ts";

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

Deno.test("a stage is evaluated and gated in the midst of a chain, its figures kept apart", async () => {
  const w = world();
  const study = await openByHand(w.input(), w.ports);
  await study.baseline();
  const trial = await study.begin(study.recipe(chain));
  const verified = await trial.apply();
  const parent = trial.trial.artifact_ids[0]!;
  assert.deepEqual(
    [
      verified?.gate,
      verified?.stage,
      verified?.attempt,
      verified?.artifact_id,
      verified?.parent_id,
    ],
    ["verification", 0, 1, parent, "base"],
  );
  const gate = await trial.evaluate();
  assert.deepEqual([gate?.gate, gate?.decision, gate?.stage], ["proxy_accuracy", "pass", 0]);
  assert.deepEqual(trial.trial.measurements, [], "the figures of a trial are its finished model's");
  const staged = w.records.find(({ type }) => type === "stage_evaluated");
  assert.ok(staged?.type === "stage_evaluated");
  assert.deepEqual([staged.stage, staged.artifact_id], [0, parent]);
  assert.ok(staged.measurements.some(({ metric, task }) => metric === "accuracy" && task === null));
  const second = await trial.apply();
  assert.deepEqual([second?.stage, second?.parent_id], [1, parent]);
  await trial.evaluate();
  await trial.measure();
  const { gates, fidelity } = await trial.learn();
  assert.equal(fidelity, "full");
  assert.deepEqual(gates.map(({ gate, stage }) => [gate, stage]), [
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
  const { trials } = await study.close();
  assert.equal(trials.at(-1)?.state, "cancelled");
  assert.equal(trial.trial.state, "cancelled");
});
