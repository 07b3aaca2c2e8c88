import assert from "node:assert/strict";
import {
  gainPerHour,
  isFinished,
  type Provenance,
  replayStudy,
  runStudy,
  type StudyRequestInput,
  type Trial,
} from "../../core/mod.ts";
import { estimatePhase, estimateRung, keepPace, SPEED } from "../../core/loop/cost/budget.ts";
import { methods } from "./spec_fixtures.ts";
import { failure, historyOf, named, run, type World, world } from "./study_world.ts";

/** A second process: a fresh world that knows the first one's journal alone. */
async function resume(first: World, asked: Partial<StudyRequestInput> = {}, count?: number) {
  const w = world(asked);
  const result = await run(w, { history: historyOf(first, count) });
  return { w, result };
}

Deno.test("a study stops when its samplers have nothing left", async () => {
  const { stop, message } = await run(world());
  assert.equal(stop, "exhausted");
  assert.match(message, /nothing left/);
});

Deno.test("a study stops after the trials asked for, strategies that cannot run not counted", async () => {
  const strategies = [{ actions: [{ agent: "shrinking", method: "gpu_only", params: {} }] }];
  const { stop, trials } = await run(world({ max_trials: 2, strategies }));
  assert.equal(stop, "max_trials");
  assert.deepEqual(trials.map(({ state }) => state), [
    "completed",
    "invalid",
    "completed",
    "completed",
  ]);
});

Deno.test("a study stops within its budget: a trial that would not fit is not begun", async () => {
  const w = world({ budget_seconds: 130 });
  const before = w.clock.now();
  const { stop, trials, message } = await run(w);
  assert.equal(stop, "budget");
  assert.ok(trials.length >= 3);
  assert.ok((w.clock.now() - before) / 1000 <= 130, "the estimate kept it inside");
  assert.match(message, /budget/);
  const refused = w.records.flatMap((one) =>
    one.type === "episode_closed" ? one.episode.refused : []
  );
  assert.ok(refused.some(({ reason }) => /s of the budget are left/.test(reason)));
});

Deno.test("a trial whose evaluation its method says is slow is said to take longer, and makes no other seem slow", async () => {
  const slow = methods.map((one) => {
    const slowness = (params: Record<string, unknown>) => params["bits"] === 4 ? 50 : 1;
    return one.method.name === "round" ? { ...one, method: { ...one.method, slowness } } : one;
  });
  const strategies = [4, 3].map((bits) => ({
    actions: [{ agent: "shrinking", method: "round", params: { bits } }],
  }));
  const states = async (known: typeof methods) => {
    const { trials } = await run(world({ budget_seconds: 130, max_trials: 2, strategies }), {
      methods: known,
    });
    return trials.map(({ state, actions }) => `${state} ${actions[0]?.params["bits"] ?? "-"}`);
  };
  assert.deepEqual((await states([...methods])).slice(0, 3), [
    "completed -",
    "completed 4",
    "completed 3",
  ]);
  const without = await states(slow as never);
  assert.ok(!without.includes("completed 4") && without.includes("completed 3"), `${without}`);

  const study = {
    seconds: new Map([["full", []], [SPEED, []]]),
    input: { methods: slow },
  } as never;
  const actions = (bits: number) =>
    [{ agent: "shrinking", method: "round", params: { bits } }] as never;
  keepPace(study, "full", actions(4), 500);
  keepPace(study, "full", [], 20);
  keepPace(study, SPEED, actions(4), 5);
  assert.equal(estimateRung(study, "full", actions(3)), 15);
  assert.equal(estimateRung(study, "full", actions(4)), 750);
  assert.equal(
    estimatePhase(study, SPEED),
    5,
    "a timing is of one token at a time whatever is kept",
  );
});

Deno.test("a study stops when its GPU hours are used, and counts none on a CPU", async () => {
  const w = world({ gpu_hours: 0.03 });
  const facts = {
    ...w.input().facts,
    device: { ...w.input().facts.device, device: "cuda" as const, vram_gb: 48, free_vram_gb: 48 },
  };
  const { stop } = await run(w, { facts });
  assert.equal(stop, "gpu_hours");
  assert.equal((await run(world({ gpu_hours: 0.03 }))).stop, "exhausted");
});

Deno.test("a study stops when its joules are used, counts them over its runs, and not without a meter", async () => {
  const metered = (w: World, watts: number) => ({
    ...w.ports,
    meter: { joules: () => 1e6 + watts * w.clock.now() / 1000 },
  });
  const first = world({ budget_joules: 1500 });
  const { stop, message, trials } = await runStudy(first.input(), metered(first, 10));
  assert.equal(stop, "joules");
  assert.match(message, /^The budget of 1500 J is used: 1[5-9]\d\d J are spent\.$/);
  assert.ok(trials.length > 1);
  const spent = (w: World) =>
    w.records.flatMap((one) => one.type === "episode_closed" ? [one.episode.spent!] : []);
  for (const { seconds, joules } of spent(first)) {
    assert.ok(Math.abs(joules! - 10 * seconds) < 1e-3, "watts of the whole wall time");
  }
  // Taken up with a larger limit it goes on from what it had spent.
  const second = world({ budget_joules: 2500 });
  const again = await runStudy(
    second.input({ history: historyOf(first) }),
    metered(second, 10),
  );
  assert.equal(again.stop, "joules");
  const { joules } = spent(second)[0]!;
  assert.ok(joules! > spent(first).at(-1)!.joules!, "counted on");
  const unmetered = world({ budget_joules: 1 });
  assert.notEqual((await run(unmetered)).stop, "joules");
  assert.ok(spent(unmetered).every((one) => one.joules === null));
});

Deno.test("a study stops when a trial evaluated in full meets the user's latency and every other constraint", async () => {
  const { stop, message, trials } = await run(world({ constraints: { max_latency_ms: 19 } }));
  assert.equal(stop, "target");
  assert.match(message, /meets every constraint, 19 ms per token/);
  const last = trials.at(-1)!;
  assert.equal(last.fidelity, "full");
  assert.ok(last.constraints.every(({ verdict }) => verdict === "met"));
});

Deno.test("a study converges after so many episodes without a gain in hypervolume", async () => {
  const { stop, message } = await run(world({ convergence_episodes: 1 }));
  assert.equal(stop, "converged");
  assert.match(message, /No gain in hypervolume in 1 episodes/);
});

Deno.test("a study stops where the gain to be expected is not worth its cost, and says both", async () => {
  const asked = { convergence_episodes: 2, max_full_evaluations: 20 };
  const plain = await run(world(asked));
  const { stop, message, trials } = await run(world({ ...asked, least_gain_per_hour: 50 }));
  assert.equal(stop, "not_worth_it");
  assert.match(
    message,
    /^Over the last 2 episodes the hypervolume rose by [\d.]+ % an hour, less than the 5000 %/,
  );
  assert.ok(trials.length < plain.trials.length);
  const low = await run(world({ ...asked, least_gain_per_hour: 1e-9 }));
  assert.deepEqual([low.stop, low.trials.length], [plain.stop, plain.trials.length]);
});

Deno.test("gainPerHour() is of the samplers' last episodes, and knows when it cannot know", () => {
  const turn = (number: number, hypervolume: number | null, hours: number, mode = "explore") => ({
    ...{ study_id: "s", number, trial_id: null, sampler: "x", front: [], refused: [], hypervolume },
    mode: mode as "explore",
    spent: { seconds: 3600 * hours, gpu_hours: null, joules: null },
  });
  const episodes = [turn(1, 0.4, 1, "seed"), turn(2, 0.5, 2), turn(3, 0.52, 3), turn(4, 0.55, 4)];
  assert.ok(Math.abs(gainPerHour(episodes, 2)! - 0.05) < 1e-12);
  assert.ok(Math.abs(gainPerHour(episodes, 3)! - 0.125) < 1e-12);
  assert.equal(gainPerHour(episodes, 4), null, "three of samplers");
  assert.equal(gainPerHour([], 1), null);
  assert.equal(
    gainPerHour([turn(1, null, 1), turn(2, 0.5, 2)], 1),
    null,
    "nothing measured before",
  );
  const { spent: _, ...old } = turn(2, 0.5, 2);
  assert.equal(gainPerHour([turn(1, 0.4, 1), old], 1), null, "a record of before");
  assert.equal(gainPerHour([turn(1, 0.5, 1), turn(2, 0.4, 2)], 1), 0, "a loss is no gain");
});

Deno.test("three trials in a row that the machine failed end a study: crashes, a full disk", async () => {
  for (const kind of ["crash", "disk_full"] as const) {
    const { stop, trials, message } = await run(
      world({}, { disturb: ({ call }) => call === "apply" ? failure(kind) : null }),
    );
    assert.equal(stop, "failed");
    assert.equal(trials.length, 4);
    assert.match(message, new RegExp(`3 trials in a row failed, the last by ${kind}`));
  }
});

Deno.test("a study goes on after one trial whose artifact found the disk full", async () => {
  const { stop, trials } = await run(world({ max_trials: 3 }, {
    disturb: ({ trial_id, call }) =>
      trial_id === "study/t01" && call === "apply" ? failure("disk_full") : null,
  }));
  assert.equal(stop, "max_trials");
  assert.deepEqual(trials[1]!.failure?.kind, "disk_full");
  assert.ok(trials.slice(2).some(({ state }) => state === "completed"));
});

Deno.test("cancelling records the running trial and closes the study", async () => {
  const w: World = world({}, {
    disturb: ({ trial_id, call }) => {
      if (trial_id === "study/t02" && call === "speed") w.abort.abort();
    },
  });
  const { stop, trials, recommendation } = await run(w);
  assert.equal(stop, "cancelled");
  assert.equal(trials.at(-1)!.trial_id, "study/t02");
  assert.equal(trials.at(-1)!.state, "cancelled");
  assert.equal(trials.at(-1)!.failure!.kind, "cancelled");
  assert.deepEqual(w.records.slice(-3).map(({ type }) => type), [
    "trial_closed",
    "episode_closed",
    "study_closed",
  ]);
  assert.ok(recommendation !== null, "what was found so far is told");
});

Deno.test("a resumed study runs no finished trial again and ends where an undisturbed one does", async () => {
  const first: World = world({}, {
    disturb: ({ trial_id, call }) => {
      if (trial_id === "study/t02" && call === "speed") first.abort.abort();
    },
  });
  const before = await run(first);
  const { w, result } = await resume(first);
  const finished = before.trials.filter(isFinished);
  assert.deepEqual(result.trials.slice(0, 3), before.trials, "finished trials are frozen");
  assert.equal(w.records[0]!.type, "study_resumed");
  assert.ok(!w.calls.some(({ recipe }) => recipe === "base"), "the baseline is not measured again");
  for (const trial of finished) {
    const again = result.trials.filter((other) =>
      JSON.stringify(other.actions) === JSON.stringify(trial.actions)
    );
    assert.equal(again.length, 1, trial.trial_id);
  }
  assert.equal(result.trials[3]!.number, 3);
  assert.deepEqual(result.trials[3]!.actions, before.trials[2]!.actions, "the cancelled one first");
  const undisturbed = await run(world());
  assert.equal(result.stop, undisturbed.stop);
  assert.equal(result.hypervolume, undisturbed.hypervolume);
  assert.deepEqual(
    new Set(result.trials.filter(isFinished).map(({ actions }) => JSON.stringify(actions))),
    new Set(undisturbed.trials.map(({ actions }) => JSON.stringify(actions))),
  );
});

Deno.test("a study whose process was killed closes the open trial and runs it again", async () => {
  const first = world();
  await run(first);
  const opened = first.records.findIndex((one) =>
    one.type === "trial_opened" && one.trial_id === "study/t03"
  );
  const { w, result } = await resume(first, {}, opened + 2);
  const killed = result.trials.find(({ trial_id }) => trial_id === "study/t03")!;
  assert.equal(killed.state, "cancelled");
  assert.match(killed.failure!.message, /process ended/);
  const again = named(result.trials.filter(({ number }) => number === 4), "");
  assert.deepEqual(again.strategy!.actions, killed.strategy!.actions);
  assert.equal(w.calls[0]!.trial_id, "study/t04");
});

Deno.test("a resumed study says which of its environments are others than when it began", async () => {
  const provenance = (environments: Record<string, string>): Provenance => ({
    command: "pare run",
    code_commit: null,
    pare_version: "0",
    environments,
    model_revision: null,
  });
  const first = world({ max_trials: 1 });
  await run(first, { provenance: provenance({ default: "aa", usual: "bb", gone: "cc" }) });
  const w = world({ max_trials: 1 });
  const now = provenance({ default: "dd", usual: "bb", fresh: "ee" });
  await run(w, { history: historyOf(first), provenance: now });
  const alerts = w.records.filter((record) => record.type === "alert");
  assert.deepEqual(
    alerts.map(({ trial_id, condition, evidence }) => [trial_id, condition, evidence]),
    [
      [
        null,
        "changed_environment",
        "the environment default has the pins dd now; the study began with aa",
      ],
    ],
  );
});

Deno.test("a finished study that is resumed finds nothing to do", async () => {
  const first = world();
  const before = await run(first);
  const { w, result } = await resume(first);
  assert.deepEqual(w.calls, []);
  assert.deepEqual(result.trials, before.trials);
  assert.deepEqual(result.front_probability, before.front_probability);
});

Deno.test("what the machine failed is tried again by a resumed study", async () => {
  const first = world({}, {
    disturb: ({ call, recipe }) =>
      call === "apply" && recipe.startsWith("tune") ? failure("out_of_memory") : null,
  });
  const before = await run(first);
  assert.equal(named(before.trials, "tune").state, "invalid");
  const { result } = await resume(first);
  const tunes = result.trials.filter(({ strategy }) => strategy?.strategy_id.includes("tune"));
  assert.deepEqual(tunes.map(({ state }) => state), ["invalid", "completed"]);
});

Deno.test("a resumed study counts the time of its earlier runs against the budget", async () => {
  const first = world({ budget_seconds: 120 });
  await run(first);
  const { w, result } = await resume(first, { budget_seconds: 120 });
  assert.equal(result.stop, "budget");
  assert.deepEqual(w.calls, []);
  const longer = await resume(first, { budget_seconds: 100_000 });
  assert.equal(longer.result.stop, "exhausted");
});

Deno.test("a study cannot be resumed without its baseline's samples, and says so", async () => {
  const first = world({ max_trials: 1 });
  await run(first);
  const w = world();
  const known = { ...historyOf(first), evaluations: [] };
  await assert.rejects(runStudy(w.input({ history: known }), w.ports), /samples of its baseline/);
  assert.deepEqual(w.records, []);
});

Deno.test("replayStudy() knows only studies that were opened", () => {
  assert.equal(replayStudy([], "study"), null);
});

Deno.test("a study cancelled in its baseline measures it again as t00 when resumed", async () => {
  const first: World = world({ max_trials: 1 }, {
    disturb: ({ call }) => {
      if (call === "speed") first.abort.abort();
    },
  });
  const before = await run(first);
  assert.equal(before.stop, "cancelled");
  assert.equal(before.recommendation, null);
  const { w, result } = await resume(first, { max_trials: 1 });
  const baselineFirst = [["study/t00", true, "completed"], ["study/t01", false, "completed"]];
  const told = (trials: readonly Trial[]) =>
    trials.map(({ trial_id, strategy, state }) => [trial_id, strategy === null, state]);
  assert.deepEqual(told(result.trials), baselineFirst);
  const records = [...first.records, ...w.records];
  assert.deepEqual(told(replayStudy(records, "study")!.trials), baselineFirst);
  const killed = records.findIndex((record, i) =>
    // again, as its second try is under way
    i > first.records.length && record.type === "measured"
  );
  const open = replayStudy(records.slice(0, killed), "study")!;
  assert.deepEqual([open.trials, open.open.map(({ trial_id }) => trial_id)], [[], ["study/t00"]]);
  assert.equal(result.stop, "max_trials");
});
