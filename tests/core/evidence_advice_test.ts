import assert from "node:assert/strict";
import {
  type ConstraintVerdict,
  rangeOf,
  recommend,
  restingOn,
  samplesToTake,
  type Spec,
  StudyRequest,
  type TaskPlan,
  type Trial,
  whatDecides,
} from "../../core/mod.ts";
import { figure, named, run, world } from "./study_world.ts";

const w = world();
const { spec, facts } = w.input();
const { trials } = await run(w);
const baseline = trials[0]!;
const eight = named(trials, "round-8bit-g64");
const request = (fields: object) =>
  StudyRequest.parse({ model_name: "demo", dataset: "demo", ...fields });

/** A trial of two tasks with 100 and 300 samples, whose drop so many samples would decide. */
function undecidedAt(samples: number | null, value = 0.01): [Trial, ConstraintVerdict] {
  const rows = ([["few", 100], ["many", 300]] as const).map(([task, n]) => ({
    ...figure("accuracy", 0.6, null, null),
    task,
    n,
    fidelity: "full" as const,
  }));
  const { evidence: _, ...old } = eight.constraints[0]!; // as it was before there were sequences
  const verdict: ConstraintVerdict = {
    ...old,
    value,
    interval: [-0.02, 0.04],
    verdict: "undecided",
    samples_to_decide: samples,
  };
  return [{ ...eight, measurements: rows, constraints: [verdict] }, verdict];
}

/** Their plan; `exist` samples of each exist, null: nobody knows. */
function plan(exist: readonly [number, number] | null, weights = [1, 1]): Spec {
  const tasks = ["few", "many"].map((task, i): TaskPlan => ({
    task,
    task_version: "1",
    primary: true,
    weight: weights[i]!,
    ...(exist === null ? {} : { available_samples: exist[i]! }),
  }));
  return { ...spec, tasks, rungs: [{ fidelity: "full", samples: { few: 100, many: 300 } }] };
}

Deno.test("samplesToTake() spreads samples over the tasks as they were, none beyond what exist", () => {
  const [trial, verdict] = undecidedAt(800);
  const enough = samplesToTake(verdict, trial, plan([5000, 5000]));
  assert.deepEqual(enough, { total: 800, by_task: { few: 200, many: 600 }, existing: 10_000 });
  // 1/100 + 1/300 halved is 1/150; of `few` 190 exist, so that `many` has to bring 1/150 − 1/190.
  const capped = samplesToTake(verdict, trial, plan([190, 5000]));
  assert.deepEqual(capped?.by_task, { few: 190, many: 713 });
  assert.ok(1 / 190 + 1 / 713 <= 1 / 150 && 1 / 190 + 1 / 712 > 1 / 150);
  assert.equal(samplesToTake(verdict, trial, plan([140, 5000]))?.by_task, null);
  assert.equal(samplesToTake(verdict, trial, plan([140, 5000], [0.1, 1]))?.by_task?.few, 140);
});

Deno.test("a verdict says after how many samples it stood, or that all that exist are read", () => {
  const [, old] = undecidedAt(800);
  const met = { ...old, verdict: "met" as const };
  assert.equal(restingOn(met), "", "an old record");
  const evidence = { samples: 200, existing: 5000, decided_at: 150, exact: false };
  const early = { ...met, evidence };
  assert.equal(restingOn(early), ", decided after 150 of 5000 samples, 200 read");
  assert.match(
    rangeOf(early),
    /^95 % interval at any look -0\.02 to 0\.04, decided after 150 samples$/,
  );
  const whole = { ...met, evidence: { ...evidence, existing: 200 } };
  assert.equal(restingOn(whole), ", exactly: all 200 samples that exist");
  assert.equal(rangeOf(whole), "exactly, of all 200 samples that exist");
  assert.equal(restingOn({ ...early, verdict: "undecided" }), "");
});

Deno.test("all samples that exist decide about the benchmark itself", () => {
  const [trial, old] = undecidedAt(800);
  const evidence = { samples: 400, existing: 5140, decided_at: null, exact: false };
  const verdict = { ...old, evidence };
  assert.deepEqual(samplesToTake(verdict, trial, plan([140, 5000]))?.by_task, {
    few: 140,
    many: 5000,
  });
});

Deno.test("samplesToTake() of old records knows all that exist where all or fewer than planned ran", () => {
  const [trial, verdict] = undecidedAt(800);
  const unknown = samplesToTake(verdict, trial, plan(null));
  assert.deepEqual([unknown?.existing, unknown?.total], [null, 800]);
  const rungs = [{ fidelity: "full", samples: { few: null, many: null } }];
  const none = samplesToTake(verdict, trial, { ...plan(null), rungs });
  assert.deepEqual([none?.existing, none?.by_task], [400, null]);
});

Deno.test("whatDecides() never asks for more samples than exist", () => {
  const [trial, verdict] = undecidedAt(800);
  assert.equal(whatDecides(verdict, trial, plan([5000, 5000])), "about 800 samples would decide");
  const all = whatDecides(verdict, trial, plan([100, 300]));
  assert.equal(all, "all 400 samples that exist would not decide it");
  assert.match(whatDecides(verdict, trial, plan(null)), /800 samples .* where so many exist/);
  const [even, onIt] = undecidedAt(null);
  assert.match(whatDecides(onIt, even, plan(null)), /which no number of samples decides/);
  const latency = { ...verdict, constraint: "max_latency_ms", samples_to_decide: null };
  const low = { ...trial, fidelity: "proxy" };
  assert.equal(whatDecides(verdict, low, plan([5000, 5000])), "a full evaluation may decide it");
  assert.match(whatDecides(latency, trial, spec), /timed again in a new study/);
});

Deno.test("advice on samples names the option that takes them, and what stands above it", () => {
  const [trial] = undecidedAt(800);
  const input = { facts, baseline, trials: [baseline, trial], stop: "exhausted" as const };
  const chosen = { ...trial, measurements: [...eight.measurements, ...trial.measurements] };
  const next = (spec: Spec, fields: object) =>
    recommend({ ...input, trials: [baseline, chosen], spec, request: request(fields) }).next[0]!;
  assert.match(next(plan([5000, 5000]), {}), /new study with --full-samples few=200,many=600 to/);
  assert.match(next(plan([100, 300]), {}), /another benchmark to --dataset .* all 400 samples/);
  const limited = next(plan([5000, 5000]), { sampling: { limit: 300 } });
  assert.match(limited, /many=600 and without its limits of samples/);
});

Deno.test("advice on a limit is a command that raises it", () => {
  const next = (stop: "budget" | "max_trials" | "gpu_hours" | "cancelled", fields: object) =>
    recommend({ spec, facts, baseline, trials: [baseline, eight], stop, request: request(fields) })
      .next.join(" ");
  assert.match(
    next("max_trials", { max_trials: 5 }),
    /`npx -y deno task pare resume study --max-trials 10`/,
  );
  assert.match(
    next("budget", { budget_seconds: 600 }),
    /`npx -y deno task pare resume study --budget 20m`/,
  );
  assert.match(next("gpu_hours", { gpu_hours: 1.5 }), /resume study --gpu-hours 3`/);
  assert.match(next("cancelled", {}), /`npx -y deno task pare resume study`/);
});

Deno.test("a trial on the proxy only is sent on by the limit that held it back, and by none else", () => {
  const proxy: Trial = { ...eight, fidelity: "proxy", constraints: [] };
  const next = (stop: "budget" | "exhausted", fields: object) =>
    recommend({ spec, facts, baseline, trials: [baseline, proxy], stop, request: request(fields) })
      .next.join(" ");
  const full = { ...proxy, fidelity: "full" as const };
  const capped = recommend({
    ...{ spec, facts, baseline, stop: "exhausted", trials: [baseline, full, proxy] },
    request: request({ max_full_evaluations: 1 }),
  });
  assert.match(capped.next.join(" "), /resume study --max-full-evaluations 2` to evaluate in full/);
  assert.match(next("budget", { budget_seconds: 90 }), /resume study --budget 3m` to evaluate in/);
  assert.doesNotMatch(next("exhausted", {}), /on the proxy only/);
  assert.match(next("exhausted", { fidelity: "proxy" }), /Leave --fidelity proxy out/);
});

Deno.test("a near miss names the threshold of accuracy that admits it, also where perplexity rose", () => {
  const missed = (constraint: string, value: number, threshold: number): Trial => ({
    ...eight,
    constraints: [{ ...eight.constraints[0]!, constraint, value, threshold, verdict: "violated" }],
  });
  const next = (trial: Trial) =>
    recommend({ spec, facts, baseline, trials: [baseline, trial], stop: "exhausted" }).next.join();
  const drop = next(missed("max_accuracy_drop", 0.031251, 0.02));
  assert.match(drop, /--max-accuracy-drop 0.0313 would admit/, "rounded up: else it is refused");
  assert.match(next(missed("max_perplexity_rise", 0.25, 0.1)), /--max-accuracy-drop 0.05 would/);
});
