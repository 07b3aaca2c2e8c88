import assert from "node:assert/strict";
import {
  type JournalRecord,
  type Measurement,
  runStudy,
  type StudyEvent,
  type Trial,
} from "../../core/mod.ts";
import { named, run, world } from "./study_world.ts";

function overall(trial: Trial, metric: string, fidelity: "proxy" | "full"): Measurement {
  const row = trial.measurements.find((one) =>
    one.metric === metric && one.task === null && one.fidelity === fidelity
  );
  assert.ok(row, `${trial.trial_id} has no ${fidelity} ${metric}`);
  return row;
}

const types = (records: readonly JournalRecord[]) => records.map(({ type }) => type);

Deno.test("runStudy() measures the baseline first, at both fidelities and alone in the runtime", async () => {
  const w = world({ max_trials: 1 });
  const { trials } = await run(w);
  const baseline = trials[0]!;
  assert.equal(baseline.number, 0);
  assert.equal(baseline.strategy, null);
  assert.equal(baseline.state, "completed");
  assert.equal(baseline.fidelity, "full");
  assert.deepEqual(
    w.calls.slice(0, 3).map(({ call, fidelity }) => [call, fidelity]),
    [["evaluate", "proxy"], ["evaluate", "full"], ["speed", null]],
  );
  assert.equal(overall(baseline, "accuracy", "full").n, 400);
  assert.deepEqual(types(w.records).slice(0, 3), [
    "study_opened",
    "trial_opened",
    "artifact_written",
  ]);
});

Deno.test("runStudy() runs the user's strategies, then one seed a boldness, then the samplers", async () => {
  const strategies = [{
    actions: [{ agent: "shrinking", method: "round", params: { bits: 8 } }],
  }];
  const { trials, stop } = await run(world({ strategies }));
  const origins = trials.slice(1).map(({ strategy }) => strategy!.origin.mode);
  assert.deepEqual(origins.slice(0, 4), ["user", "seed", "seed", "seed"]);
  assert.ok(origins.slice(4).every((mode) => mode === "explore"));
  assert.equal(stop, "exhausted");
  const keys = trials.map(({ actions }) =>
    JSON.stringify(actions.map((a) => [a.method, a.params]))
  );
  assert.equal(new Set(keys).size, trials.length);
});

Deno.test("runStudy() finds the trade-off of the world: fewer bits are smaller and less right", async () => {
  const { trials, front, recommendation, front_probability, hypervolume } = await run(world());
  const eight = named(trials, "round-8bit-g64");
  const three = named(trials, "round-3bit-g64");
  assert.ok(front.includes(eight.trial_id) && front.includes(three.trial_id));
  assert.ok(
    !front.includes(trials[0]!.trial_id),
    "8 bits are as right as the baseline and smaller",
  );
  assert.ok(front.every((id) => front_probability[id]! > 0.5));
  const baseline = front_probability[trials[0]!.trial_id]!;
  assert.ok(baseline < 0.5, `${baseline}: no flip among 400 samples is no certainty`);
  assert.ok(hypervolume! > 0);
  assert.equal(recommendation!.trial_id, eight.trial_id);
  assert.match(recommendation!.reasons.join(" "), /limit on accuracy drop is met/);
});

Deno.test("runStudy() repeats itself from the same seed", async () => {
  const first = await run(world());
  const second = await run(world());
  assert.deepEqual(first, second);
});

Deno.test("runStudy() writes each trial whole: figures, constraints, reward, gates, spans", async () => {
  const w = world({ max_trials: 2 });
  const { trials } = await run(w);
  const trial = trials[1]!;
  const metrics = new Set(trial.measurements.map(({ metric }) => metric));
  for (const metric of ["accuracy", "perplexity", "latency_ms", "size_bytes", "memory_bytes"]) {
    assert.ok(metrics.has(metric), metric);
  }
  assert.ok(metrics.has("baseline_latency_ms"), "the baseline of the same minutes is kept");
  assert.deepEqual(trial.gates.map(({ gate, decision }) => [gate, decision]), [
    ["verification", "pass"],
    ["proxy_accuracy", "pass"],
  ]);
  const wall = (Date.parse(trial.finished_at!) - Date.parse(trial.started_at)) / 1000;
  const spans = trial.spans.reduce((sum, span) => sum + span.seconds, 0);
  assert.ok(Math.abs(wall - spans) < 1e-9, "spans and the loop's own time make up the trial");
  const terms = trial.reward!.terms.filter(({ term }) => term !== "penalty");
  assert.deepEqual(terms.map(({ term }) => term), ["accuracy", "latency", "size"], "the front's");
  const closed = w.records.findLast((record) => record.type === "study_closed");
  assert.ok(closed);
});

Deno.test("an undecided constraint takes no penalty and says how many samples would decide", async () => {
  const { trials } = await run(world());
  const four = named(trials, "round-4bit-g64");
  const verdict = four.constraints[0]!;
  assert.equal(verdict.verdict, "undecided");
  assert.ok(verdict.interval![0] < 0.02 && verdict.interval![1] > 0.02);
  assert.ok(verdict.samples_to_decide! > 400);
  assert.ok(!four.reward!.terms.some(({ term }) => term === "penalty"));
});

Deno.test("when the search ends, the better of the trials held takes the last full evaluation", async () => {
  const w = world({ max_full_evaluations: 8 });
  const { trials } = await run(w);
  const closed = w.records.flatMap((one) => one.type === "trial_closed" ? [one.trial] : []);
  const [better, other] = closed.slice(-2) as [Trial, Trial];
  assert.deepEqual(
    [better, other].map(({ number }) => number > 0 && number < trials.length - 1),
    [true, true],
    "both were opened before others that are closed already",
  );
  assert.equal(better.fidelity, "full");
  assert.equal(other.fidelity, "proxy");
  assert.ok(better.reward!.value > other.reward!.value);
  for (const { spans } of [better, other]) {
    const loop = spans.find(({ name }) => name === "loop")!;
    assert.ok(loop.seconds < 1e-9, "the time that others took is not its own");
  }
});

Deno.test("full evaluations keep to their number", async () => {
  const w = world({ max_full_evaluations: 4 });
  const { trials } = await run(w);
  const full = w.calls.filter(({ fidelity }) => fidelity === "full");
  assert.equal(full.length, 5, "the baseline's and four more");
  assert.ok(trials.every(({ state }) => state !== "running"));
  const closed = w.records.filter(({ type }) => type === "trial_closed").length;
  assert.equal(closed, trials.length, "every trial is closed once");
});

Deno.test("runStudy() asks about what nobody gave, where there is somebody to ask", async () => {
  const w = world({ max_trials: 1 });
  const asked: string[] = [];
  const ask = {
    ...w.ports.ask,
    interactive: true,
    number: (question: string) => {
      asked.push(question);
      return Promise.resolve(0.1);
    },
  };
  const { spec } = await runStudy(w.input(), { ...w.ports, ask });
  assert.equal(asked.length, 1);
  assert.equal(spec.constraints.max_accuracy_drop, 0.1);
  const opened = w.records[0]!;
  assert.ok(opened.type === "study_opened" && opened.spec.constraints.max_accuracy_drop === 0.1);
});

Deno.test("runStudy() tells whoever watches of every phase and record", async () => {
  const w = world({ max_trials: 1 });
  const events: StudyEvent[] = [];
  await run(w, { onEvent: (event) => events.push(event) });
  const phases = events.flatMap((event) => event.event === "phase" ? [event.phase] : []);
  assert.deepEqual(phases, ["proxy", "full", "speed", "apply", "proxy", "speed", "full"]);
  assert.equal(events.filter(({ event }) => event === "record").length, w.records.length);
});

Deno.test("what samplers were to be shown and could not be read is told with the study", async () => {
  const w = world({ max_trials: 1 });
  await runStudy(w.input({ unread: ["trials of earlier studies: process 7 has it"] }), w.ports);
  const alerts = w.records.filter((record) => record.type === "alert");
  assert.deepEqual(
    alerts.map(({ condition, evidence, trial_id }) => [condition, evidence, trial_id]),
    [["unread_history", "trials of earlier studies: process 7 has it", null]],
  );
});
