/** What a notebook calls of a study: one strategy, episodes, all of it; and cells run twice. */
import assert from "node:assert/strict";
import { UsageError } from "../../../../core/mod.ts";
import { mediaOf, worldSession } from "./world_session.ts";

const RECIPE = [{ agent: "shrinking", method: "round", params: { bits: 4, group_size: 32 } }];

const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof UsageError && pattern.test(error.message);

Deno.test("a study shows itself before it has begun, and has no rows then", async () => {
  const { session } = worldSession();
  const { "text/plain": text, "text/html": html } = await mediaOf(session);
  assert.match(text!, /Study study\n[\s\S]*nothing has run: run\(\) runs it to its end/);
  assert.match(html!, /<strong>Study study<\/strong>/);
  assert.deepEqual([await session.front(), await session.trials()], [[], []]);
  await assert.rejects(session.trial("t01"), refused(/has no trial yet: run\(\) it first/));
  assert.equal(await session.stop(), null);
});

Deno.test("one strategy is run, and the cell that runs it twice does it once", async () => {
  const { session, world, opened } = worldSession();
  const trial = await session.run(RECIPE);
  assert.deepEqual([trial.trial, trial.state, trial.is_baseline], ["t01", "completed", false]);
  assert.equal(typeof trial.size_bytes, "number");
  assert.ok(trial.gates.length > 0 && trial.actions.length === 1);
  const before = world.calls.length;
  assert.equal((await session.run(RECIPE)).trial_id, trial.trial_id);
  assert.deepEqual([world.calls.length, opened()], [before, 1]);
  const { "text/plain": text } = await mediaOf(trial);
  assert.match(text!, /Trial t01 of study\nrecipe +round/);
});

Deno.test("a proposal is run as the sampler made it, and an edited one is the user's own", async () => {
  const { session } = worldSession({ max_trials: 4 });
  const proposal = (await session.propose())!;
  const card = (await mediaOf(proposal))["text/plain"]!;
  assert.match(card, /Proposed by /);
  assert.match(card, /size by formula +[\d.]+ MB/, "known before any work");
  await session.run(proposal);
  const next = (await session.propose())!;
  const [action] = next.actions;
  const edited = { ...next, actions: [{ ...action!, params: { ...action!.params, bits: 3 } }] };
  await session.run(edited);
  const { trials } = await session.view();
  const origins = trials.slice(1).map(({ strategy }) => strategy!.origin);
  assert.equal(origins[0]!.sampler, proposal.origin.sampler);
  assert.deepEqual(
    [origins[1]!.sampler, origins[1]!.reason],
    ["user", `edited: ${next.origin.sampler} proposed it`],
  );
  assert.equal(trials[2]!.actions[0]!.params["bits"], 3, "knobs are resolved anew");
});

Deno.test("what is no strategy is refused in a sentence", async () => {
  const { session } = worldSession();
  // deno-lint-ignore no-explicit-any -- a notebook's cells are not checked for types
  const run = session.run as any;
  await assert.rejects(run(null), refused(/Cannot run null: propose\(\) has nothing left/));
  await assert.rejects(run({ actions: 7 }), refused(/give what propose\(\) gives/));
  await assert.rejects(run([{ method: "round" }]), refused(/Cannot take the recipe/));
});

Deno.test("episodes drive the study to run()'s own end", async () => {
  const whole = await worldSession().session.run();
  const { session } = worldSession();
  const seen: string[] = [];
  for await (const { number, trial, front } of session.episodes()) {
    seen.push(`${number} ${trial.trial} ${front.length > 0}`);
  }
  assert.deepEqual(seen, ["1 t01 true", "2 t02 true", "3 t03 true"]);
  const result = await session.run();
  assert.deepEqual([result.stop, result.trials], [whole.stop, whole.trials]);
});

Deno.test("a loop that is left closes its study, and another goes on", async () => {
  const { session, world, opened } = worldSession();
  for await (const { trial } of session.episodes()) {
    assert.equal(trial.trial, "t01");
    break;
  }
  assert.equal(world.records.at(-1)?.type, "study_closed");
  assert.equal(await session.stop(), null, "nothing is open");
  const rest: string[] = [];
  for await (const { trial } of session.episodes()) rest.push(trial.trial);
  assert.deepEqual([rest, opened()], [["t02", "t03"], 2]);
});

Deno.test("a finished study gives its result again at once", async () => {
  const { session, opened } = worldSession();
  const result = await session.run();
  assert.equal(await session.run(), result);
  assert.equal(opened(), 1);
  const { "text/plain": text } = await mediaOf(result);
  assert.match(text!, /All 3 trials that were asked for are run/);
});

Deno.test("stop() ends what runs, and run() goes on", async () => {
  const { session, world } = worldSession();
  const running = session.run({
    onEvent: (event) => {
      if (event.event !== "record" || event.record.type !== "trial_opened") return;
      if (event.record.number === 2) void session.stop();
    },
  });
  assert.equal((await running).stop, "cancelled");
  const { stop, trials } = await session.run();
  assert.equal(stop, "max_trials");
  assert.deepEqual(
    trials.map(({ state }) => state),
    ["completed", "completed", "cancelled", "completed", "completed"],
  );
  assert.equal(world.records.filter(({ type }) => type === "study_closed").length, 2);
});

Deno.test("stop() gives a study back that is open between two cells", async () => {
  const { session, world } = worldSession();
  await session.run(RECIPE);
  const result = await session.stop();
  assert.deepEqual([result?.stop, world.records.at(-1)?.type], ["cancelled", "study_closed"]);
  assert.equal((await session.run(RECIPE)).trial, "t01", "it is taken up, and knows the recipe");
});

Deno.test("a second call while one runs is refused in a sentence", async () => {
  const { session } = worldSession();
  const first = session.run(RECIPE);
  await assert.rejects(session.propose(), refused(/the call before is not done: await it/));
  assert.equal((await first).state, "completed");
});

Deno.test("rows of the front and of all trials are flat, with differences and P(front)", async () => {
  const { session } = worldSession({ max_trials: 4 });
  await session.run();
  const [front, trials, view] = [
    await session.front(),
    await session.trials(),
    await session.view(),
  ];
  assert.deepEqual(front.map(({ trial_id }) => trial_id), [...view.front]);
  assert.equal(trials.length, view.rows.length);
  for (const row of trials) {
    for (const [name, cell] of Object.entries(row)) {
      assert.ok(cell === null || typeof cell !== "object", `${name} is nested`);
    }
  }
  const own = front.find(({ is_baseline }) => !is_baseline)!;
  const { difference } = view.rows.find(({ trial_id }) => trial_id === own.trial_id)!;
  assert.deepEqual(
    [own["accuracy_difference"], own["accuracy_difference_low"], own["accuracy_difference_high"]],
    [difference!.value, ...difference!.interval!],
  );
  assert.ok(own.front_probability! > 0);
  assert.match((await mediaOf(front))["text/plain"]!, /difference \[95 %\] +P\(front\)/);
});

Deno.test("a mistake in a recipe takes up no study that has ended", async () => {
  const { session, world: w, opened } = worldSession({ max_trials: 2 });
  await session.run();
  const [records, times] = [w.records.length, opened()];
  const typo = [{ agent: "shrinking", method: "rond", params: {} }];
  await assert.rejects(session.run(typo), /Did you mean "round"/);
  await assert.rejects(session.run([]), /Cannot take the recipe/);
  assert.deepEqual([w.records.length, opened()], [records, times]);
});
