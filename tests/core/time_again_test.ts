/** Timings that other work disturbed are made again before anything rests on them. */
import assert from "node:assert/strict";
import { comparableStudy, frontOf, replayStudy, runStudy } from "../../core/mod.ts";
import { failure, historyOf, run, type World, world } from "./study_world.ts";

const timings = (w: World, id: string) =>
  w.calls.filter(({ call, trial_id }) => call === "speed" && trial_id === id).length;

const alertsOf = (w: World) =>
  w.records.flatMap((one) =>
    one.type === "alert" && one.condition === "timing_disturbed" ? [one.outcome] : []
  );

const onFront = (w: World) =>
  frontOf(comparableStudy(replayStudy(w.records, "study")!.trials, w.input().spec)).members
    .map(({ trial }) => trial).filter(({ strategy }) => strategy !== null);

Deno.test("a study times what its front rests on again once the machine is quiet", async () => {
  const w = world({}, { busy: (_, nth) => nth === 1 ? 1.5 : undefined });
  const { recommendation } = await run(w);
  const front = onFront(w);
  assert.ok(front.length > 1);
  for (const { trial_id, measurements } of front) {
    assert.equal(timings(w, trial_id), 2, trial_id);
    assert.equal(
      measurements.findLast(({ metric }) => metric === "latency_ms")!.busy_cores,
      undefined,
    );
  }
  const others = new Set(w.calls.map(({ trial_id }) => trial_id));
  for (const { trial_id } of front) others.delete(trial_id);
  for (const id of others) assert.ok(timings(w, id) <= 1, `${id} is not on the front`);
  assert.deepEqual(new Set(alertsOf(w)), new Set(["the machine was quiet"]));
  assert.ok(recommendation!.reasons.every((one) => !one.includes("while other work took")));
  const quiet = world();
  const plain = await run(quiet);
  assert.equal(recommendation!.trial_id, plain.recommendation!.trial_id);
  assert.deepEqual(alertsOf(quiet), []);
});

Deno.test("a trial that is timed again is judged by its new figures", async () => {
  const w: World = world({ constraints: { goals: { memory_bytes: "+10%" } } }, {
    busy: (_, nth) => nth === 1 ? 1.5 : undefined,
    memory: () => {
      const { trial_id } = w.calls.at(-1)!;
      return trial_id.endsWith("t00") || timings(w, trial_id) === 1 ? 100e6 : 10e6;
    },
  });
  const { recommendation, trials } = await run(w);
  const front = onFront(w);
  assert.ok(front.length > 1);
  const verdict = ({ constraints }: Pick<typeof front[number], "constraints">) =>
    constraints.find(({ constraint }) => constraint === "goal/memory_bytes")!.verdict;
  assert.deepEqual(new Set(front.map(verdict)), new Set(["met"]));
  const others = trials.filter(({ trial_id, strategy, fidelity }) =>
    strategy !== null && fidelity === "full" && timings(w, trial_id) === 1
  );
  assert.ok(others.every((trial) => verdict(trial) === "violated"));
  assert.notEqual(recommendation!.trial_id, null);
});

Deno.test("where the machine stays busy one timing finds out, and the reasons say so", async () => {
  let quiet = false;
  const w = world({}, { busy: () => quiet ? undefined : 1.5 });
  const { recommendation } = await run(w);
  assert.deepEqual(alertsOf(w), ["other work took 1.5 cores again"]);
  assert.ok(
    recommendation!.reasons.some((one) =>
      /latency .* while other work took 1.5 cores; on a quiet machine it may differ\)/.test(one)
    ),
    recommendation!.reasons.join("\n"),
  );
  // It goes on later, on a quiet machine: what an earlier process made is timed then.
  const before = w.calls.length;
  quiet = true;
  await runStudy(w.input({ history: historyOf(w) }), w.ports);
  const again = new Set(w.calls.slice(before).map(({ trial_id }) => trial_id));
  for (const { trial_id } of onFront(w)) assert.ok(again.has(trial_id), trial_id);
  assert.ok(alertsOf(w).slice(1).every((outcome) => outcome === "the machine was quiet"));
});

Deno.test("a timing that fails the second time leaves the trial as it was", async () => {
  const w = world({}, {
    busy: (_, nth) => nth === 1 ? 1.5 : undefined,
    disturb: ({ call, trial_id, count }) =>
      call === "speed" && timings(w, trial_id) > 1 ? failure("invalid", `call ${count}`) : null,
  });
  const { trials, front } = await run(w);
  const plain = await run(world());
  assert.match(alertsOf(w)[0]!, /^it could not be: .*; its first figures stand$/);
  assert.deepEqual(front, plain.front);
  assert.deepEqual(trials.map(({ state }) => state), plain.trials.map(({ state }) => state));
});

Deno.test("a study whose budget is used times nothing again", async () => {
  const w = world({ budget_seconds: 130 }, { busy: () => 1.5 });
  const before = w.clock.now();
  await run(w);
  assert.ok((w.clock.now() - before) / 1000 <= 130);
});

Deno.test("a study that was killed while it timed again goes on to the same front", async () => {
  let quiet = false;
  const w = world({}, { busy: (_, nth) => nth === 1 && !quiet ? 1.5 : undefined });
  const whole = await run(w);
  const first = w.records.findIndex((one) =>
    one.type === "alert" && one.condition === "timing_disturbed"
  );
  quiet = true;
  // After the new figures, after the alert, after the trial was closed anew, after its episode.
  for (const count of [first, first + 1, first + 2, first + 3]) {
    const { front, trials } = await runStudy(w.input({ history: historyOf(w, count) }), w.ports);
    assert.deepEqual(front, whole.front, `killed after ${count} records`);
    assert.equal(new Set(trials.map(({ trial_id }) => trial_id)).size, trials.length);
    const timed = trials.filter(({ trial_id }) => front.includes(trial_id));
    for (const { measurements } of timed) {
      const latest = measurements.findLast(({ metric }) => metric === "latency_ms")!;
      assert.equal(latest.busy_cores, undefined);
    }
  }
});
