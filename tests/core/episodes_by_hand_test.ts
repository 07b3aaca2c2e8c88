/** The coordinator's episodes taken one by one, and whole trials of one's own between them. */
import assert from "node:assert/strict";
import { openByHand, UsageError } from "../../core/mod.ts";
import { historyOf, run, world } from "./study_world.ts";

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

Deno.test("episodes one by one leave the coordinator's records, to its own end", async () => {
  const auto = world({ max_trials: 4 });
  const result = await run(auto);
  const w = world({ max_trials: 4 });
  const study = await openByHand(w.input(), w.ports);
  const seen: string[] = [];
  for (let trial = await study.episode(); trial !== null; trial = await study.episode()) {
    seen.push(trial.trial_id);
  }
  assert.equal(await study.episode(), null, "it is over, also when asked again");
  assert.deepEqual(await study.close(), result);
  assert.deepEqual(w.records, auto.records);
  assert.deepEqual(seen, ["study/t01", "study/t02", "study/t03", "study/t04"]);
});

Deno.test("a study that is left is taken up where it stood, and ends as one that never stopped", async () => {
  const whole = await run(world({ max_trials: 4 }));
  const w = world({ max_trials: 4 });
  const first = await openByHand(w.input(), w.ports);
  await first.episode();
  const left = await first.leave();
  assert.deepEqual([left.stop, left.trials.length], ["cancelled", 2]);
  const second = await openByHand(w.input({ history: historyOf(w) }), w.ports);
  while (await second.episode() !== null);
  const { stop, trials } = await second.close();
  assert.deepEqual(
    [stop, trials.map(({ strategy, state }) => [strategy?.strategy_id, state])],
    [whole.stop, whole.trials.map(({ strategy, state }) => [strategy?.strategy_id, state])],
  );
});

const RECIPE = [{ agent: "shrinking", method: "round", params: { bits: 4, group_size: 32 } }];

Deno.test("a recipe of one's own is one whole trial, and is not run twice", async () => {
  const w = world({ max_trials: 4 });
  const study = await openByHand(w.input(), w.ports);
  await assert.rejects(study.run(study.recipe(RECIPE)), refused(/baseline is not measured/));
  await study.baseline();
  const trial = await study.run(study.recipe(RECIPE));
  assert.deepEqual([trial.trial_id, trial.state], ["study/t01", "completed"]);
  const before = w.calls.length;
  assert.equal((await study.run(study.recipe(RECIPE))).trial_id, "study/t01");
  assert.equal(w.calls.length, before, "nothing was measured again");
  const open = await study.begin((await study.propose())!);
  await assert.rejects(study.episode(), refused(/t02 is open: learn\(\) or abandon\(\) it first/));
  await open.abandon("looked at");
  assert.equal((await study.episode())?.state, "completed");
});

Deno.test("an ended study that is taken up and left untouched ends as it had ended", async () => {
  const w = world({ max_trials: 2 });
  const whole = await run(w);
  assert.equal(whole.stop, "max_trials");
  for (const leave of ["close", "leave"] as const) {
    const study = await openByHand(w.input({ history: historyOf(w) }), w.ports);
    const { stop, message } = await study[leave]();
    assert.deepEqual([stop, message], [whole.stop, whole.message], leave);
  }
  const study = await openByHand(w.input({ history: historyOf(w) }), w.ports);
  await study.run(study.recipe(RECIPE));
  assert.equal((await study.close()).stop, "by_hand");
});
