import assert from "node:assert/strict";
import {
  kindOf,
  replayStudy,
  type StudyLimits,
  type StudyRequestInput,
  withLimits,
} from "../../core/mod.ts";
import { largeFacts, request, smallFacts } from "./spec_fixtures.ts";
import { failure, historyOf, run, type World, world, type WorldOptions } from "./study_world.ts";

/** A world whose clock rings: the call that runs past the moment fails as cancelled. */
function ringing(asked: Partial<StudyRequestInput>, options: WorldOptions = {}) {
  const w: World = world(asked, {
    ...options,
    disturb: (call) => {
      w.clock.advance(4); // of the call, before it is ended
      const rung = w.clock.now() >= rings;
      return rung ? failure("cancelled", "The worker was ended") : options.disturb?.(call);
    },
  });
  let rings = Infinity;
  const cleared: number[] = [];
  const endAfter = (ms: number) => {
    rings = w.clock.now() + ms;
    return { clear: () => void cleared.push(rings = Infinity) };
  };
  const ports = { ...w.ports, clock: { now: w.clock.now, endAfter } };
  return { ...w, ports, cleared };
}

/** A second process that goes on with what the first one recorded, with limits set anew. */
async function goOn(first: World, asked: Partial<StudyRequestInput>, limits: StudyLimits) {
  const w = world({ ...asked, ...limits });
  const result = await run(w, { history: historyOf(first), limits });
  return { w, result };
}

Deno.test("a budget ends the baseline, and the study says how it goes on", async () => {
  const w = ringing({ budget_seconds: 3 });
  const result = await run(w);
  assert.equal(result.stop, "budget");
  assert.match(result.message, /budget of 3 s is used.*not measured yet/);
  assert.match(result.message, /`npx -y deno task pare resume study --budget 6s` goes on/);
  assert.equal(w.calls.length, 1, "nothing began after its end");
  const [baseline] = result.trials;
  assert.equal(baseline!.state, "cancelled");
  assert.match(baseline!.failure!.message, /time of the study ended during proxy/);
  assert.equal(result.recommendation, null);
  assert.deepEqual(w.cleared, [Infinity]);
  const { result: longer } = await goOn(w, {}, { budget_seconds: 100_000 });
  assert.equal(longer.stop, "exhausted");
});

/** A world whose second trial takes an hour to evaluate, which nothing foretells. */
const slow = (asked: Partial<StudyRequestInput>) => {
  const w: World = ringing(asked, {
    disturb: ({ call, trial_id }) => {
      if (call === "evaluate" && trial_id === "study/t02") w.clock.advance(HOUR);
    },
  });
  return w;
};
const HOUR = 3600;

Deno.test("a trial that the budget's end finds under way has as long again as it was said to take", async () => {
  const w = slow({ budget_seconds: 200 });
  const { stop, message, trials } = await run(w);
  assert.equal(stop, "budget");
  const [, first, cut, ...others] = trials;
  assert.deepEqual([first!.state, cut!.state, others], ["completed", "cancelled", []]);
  assert.match(
    cut!.failure!.message,
    /^It took longer than was foretold: .* had ended \d+ s before, and it was stopped during speed$/,
  );
  assert.match(message, /^The budget of 200 s is used/);
  const { result } = await goOn(w, {}, { budget_seconds: 10_000, max_trials: 2 });
  const recipe = JSON.stringify(cut!.actions);
  const again = result.trials.filter(({ actions }) => JSON.stringify(actions) === recipe);
  assert.deepEqual(again.map(({ state }) => state), ["cancelled", "completed"]);
});

Deno.test("a trial that is a little late is whole, and one without a budget takes what it takes", async () => {
  const late: World = ringing({ budget_seconds: 200 }, {
    disturb: ({ call, trial_id }) => {
      // So that the budget ends within it.
      if (call === "evaluate" && trial_id === "study/t02") late.clock.advance(85);
    },
  });
  const { stop, trials } = await run(late);
  assert.equal(stop, "budget");
  assert.equal(trials.at(-1)!.state, "completed");
  assert.ok(late.clock.now() > Date.parse(trials[0]!.started_at) + 200_000, "beyond its end");
  const free = await run(slow({ max_trials: 2 }));
  assert.deepEqual(free.trials.map(({ state }) => state), Array(3).fill("completed"));
});

Deno.test("a budget that is used between two phases of the baseline begins no other", async () => {
  const w = world({ budget_seconds: 5 }); // the proxy takes 5 s, and no timer rings
  const { stop, trials } = await run(w);
  assert.equal(stop, "budget");
  assert.deepEqual(w.calls.map(({ fidelity }) => fidelity), ["proxy"]);
  assert.match(trials[0]!.failure!.message, /ended before full/);
});

Deno.test("a budget that earlier runs have used begins no baseline", async () => {
  const w = ringing({ budget_seconds: 3 });
  await run(w);
  const { w: second, result } = await goOn(w, {}, { budget_seconds: 3 });
  assert.equal(result.stop, "budget");
  assert.deepEqual(second.calls, []);
});

Deno.test("GPU hours end a baseline on a GPU, and are nothing elsewhere", async () => {
  const gpu = ringing({ gpu_hours: 3 / 3600 }, { facts: largeFacts() });
  const ended = await run(gpu);
  assert.equal(ended.stop, "gpu_hours");
  assert.match(ended.message, /--gpu-hours 0.00166/);
  const cpu = ringing({ gpu_hours: 3 / 3600, max_trials: 1 }, { facts: smallFacts() });
  assert.equal((await run(cpu)).stop, "max_trials");
  const warned = (w: World) => w.input().spec.warnings.filter((one) => /gpu-hours/.test(one));
  assert.match(warned(cpu)[0]!, /--gpu-hours 0.000\d+ has no effect as this machine has no GPU/);
  assert.deepEqual(warned(gpu), []);
});

Deno.test("an evaluation is ended by its budget too", async () => {
  const w = ringing({ budget_seconds: 3, evaluation: {} });
  const { stop, trials } = await kindOf(w.input().request).drive(w.input(), {
    ...w.ports,
    idOfBytes: ({ artifact_id }) => Promise.resolve(artifact_id),
  });
  assert.equal(stop, "budget");
  assert.equal(trials[0]!.state, "cancelled");
});

Deno.test("limits that resuming sets are recorded, and the last ones hold", async () => {
  const first = world({ max_trials: 1 });
  assert.equal((await run(first)).stop, "max_trials");
  const { w, result } = await goOn(first, { max_trials: 1 }, { max_trials: 3 });
  assert.equal(result.stop, "max_trials");
  assert.equal(result.trials.filter(({ strategy }) => strategy !== null).length, 3);
  const [resumed] = w.records;
  assert(resumed?.type === "study_resumed");
  assert.deepEqual(resumed.limits, { max_trials: 3 });
  const replayed = replayStudy([...first.records, ...w.records], "study")!;
  assert.equal(replayed.opened.request.max_trials, 3);
  assert.deepEqual(withLimits(request({ max_trials: 1 }), {}).max_trials, 1);
});

Deno.test("more full evaluations take what an earlier run left on the proxy, and nothing twice", async () => {
  const first = world({ max_full_evaluations: 1 });
  const before = await run(first);
  const onProxy = before.trials.filter(({ state, fidelity }) =>
    state === "completed" && fidelity === "proxy"
  );
  assert.ok(onProxy.length > 0);
  assert.match(before.recommendation!.next.join(" "), /--max-full-evaluations 2/);
  const { w, result } = await goOn(first, {}, { max_full_evaluations: 8 });
  const added = result.trials.slice(before.trials.length)
    .filter(({ strategy }) => /again, now/.test(strategy!.origin.reason));
  assert.ok(added.some(({ fidelity }) => fidelity === "full"));
  assert.deepEqual(result.trials.slice(0, before.trials.length), before.trials, "frozen");
  const recipe = (trial: typeof added[number]) =>
    JSON.stringify(trial.actions.map((a) => a.params));
  for (const trial of added) assert.ok(onProxy.some((one) => recipe(one) === recipe(trial)));
  // Another time finds nothing left to do.
  const both: World = {
    ...first,
    records: [...first.records, ...w.records],
    stored: [...first.stored, ...w.stored],
  };
  const again = await goOn(both, { max_full_evaluations: 8 }, {});
  const names = again.result.trials.slice(result.trials.length)
    .map(({ strategy }) => strategy!.origin.reason);
  assert.ok(!names.some((reason) => /again, now/.test(reason)), names.join());
});

Deno.test("a recipe that is evaluated again in full counts once among the trials", async () => {
  const first = world({ max_full_evaluations: 1, max_trials: 4 });
  const before = await run(first);
  const { result } = await goOn(first, { max_trials: 4 }, { max_full_evaluations: 8 });
  assert.equal(result.stop, "max_trials");
  assert.ok(result.trials.length > before.trials.length);
  const more = { ...first, records: [...first.records] };
  const { result: five } = await goOn(more, { max_full_evaluations: 1 }, { max_trials: 5 });
  assert.equal(five.trials.filter(({ strategy }) => strategy !== null).length, 5);
});

Deno.test("a trial took its unfinished time too, whatever ended it", async () => {
  const sum = (trial: { spans: readonly { seconds: number }[] }) =>
    trial.spans.reduce((total, { seconds }) => total + seconds, 0);
  const w: World = world({ max_trials: 1 }, {
    disturb: ({ trial_id, call }) => {
      if (trial_id === "study/t01" && call === "speed") {
        w.clock.advance(40);
        w.abort.abort();
      }
    },
  });
  const { trials } = await run(w);
  const cancelled = trials.at(-1)!;
  assert.equal(cancelled.state, "cancelled");
  assert.equal(cancelled.spans.find(({ name }) => name === "unfinished speed")?.seconds, 40);
  const wall = Date.parse(cancelled.finished_at!) - Date.parse(cancelled.started_at);
  assert.equal(sum(cancelled), wall / 1000);
});

Deno.test("a trial whose process was killed took until its last record", async () => {
  const first = world();
  await run(first);
  const from = first.records.findIndex((one) =>
    one.type === "trial_opened" && one.trial_id === "study/t03"
  );
  const records = first.records.slice(0, from + 4); // it was opened, applied and measured once
  const last = records.at(-1)!;
  assert.equal("trial_id" in last && last.trial_id, "study/t03");
  const { result } = await goOn({ ...first, records }, {}, {});
  const killed = result.trials.find(({ trial_id }) => trial_id === "study/t03")!;
  assert.equal(killed.finished_at, last.at);
  const seconds = (Date.parse(last.at) - Date.parse(killed.started_at)) / 1000;
  assert.ok(seconds > 0);
  assert.deepEqual(killed.spans, [{ name: "unfinished", seconds, library: false }]);
});
