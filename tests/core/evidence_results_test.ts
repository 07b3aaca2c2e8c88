import assert from "node:assert/strict";
import {
  type Comparable,
  comparableStudy,
  frontHypervolume,
  frontOf,
  type Measurement,
  recommend,
  ResultReport,
  resultReport,
  ResultVector,
  resultVector,
  type Trial,
} from "../../core/mod.ts";
import { figure, named, run, world } from "./study_world.ts";

const w = world();
const { spec, facts } = w.input();
const { trials } = comparableStudy((await run(w)).trials, spec);
const baseline = trials[0]!;
const eight = found("round-8bit-g64");
const four = found("round-4bit-g64");
const two = found("2bit");

function found(part: string): Comparable {
  const { trial_id } = named(trials, part);
  return trials.find((trial) => trial.trial_id === trial_id)!;
}

function withRows(trial: Comparable, rows: Measurement[]): Comparable {
  return { ...trial, measurements: [...trial.measurements, ...rows] };
}

Deno.test("frontOf() leaves out what was not evaluated in full, and says why", () => {
  const { members, left_out } = frontOf(comparableStudy([
    eight,
    { ...four, trial_id: "a", fidelity: "proxy" },
    { ...four, trial_id: "d", state: "invalid" },
    { ...four, trial_id: "e", measurements: [] },
  ], spec));
  assert.deepEqual(members.map(({ trial }) => trial.trial_id), [eight.trial_id]);
  assert.deepEqual(left_out, [
    { trial_id: "a", reason: "it was evaluated on the proxy only" },
    { trial_id: "d", reason: "its state is invalid" },
    { trial_id: "e", reason: "accuracy was not measured in full" },
  ]);
});

Deno.test("frontHypervolume() is relative to the baseline and grows with the front", () => {
  const volume = (list: readonly Trial[]) => frontHypervolume(comparableStudy(list, spec), facts)!;
  const alone = volume([baseline]);
  const accuracy =
    baseline.measurements.findLast(({ metric, task, fidelity }) =>
      metric === "accuracy" && task === null && fidelity === "full"
    )!.value;
  assert.ok(Math.abs(alone - accuracy * 0.1 * 0.1) < 1e-12, "accuracy × a tenth × a tenth");
  assert.ok(volume([baseline, eight]) > alone);
});

Deno.test("recommend() never takes a violating trial, nor one whose estimate is beyond", () => {
  const verdict = (value: number, kind: "violated" | "undecided"): Trial => ({
    ...eight,
    constraints: [{ ...eight.constraints[0]!, value, verdict: kind, samples_to_decide: 900 }],
  });
  const input = { spec, facts, baseline, stop: "exhausted" as const };
  const violated = recommend({ ...input, trials: [baseline, verdict(0.03, "violated")] });
  assert.equal(violated.trial_id, baseline.trial_id);
  assert.match(violated.reasons.join(" "), /1 of 1 evaluated in full violates/);
  assert.match(violated.next.join(" "), /--max-accuracy-drop 0.03 would admit .* against 0.02/);
  const beyond = recommend({ ...input, trials: [baseline, verdict(0.03, "undecided")] });
  assert.equal(beyond.keep_original, true);
  assert.match(beyond.reasons.join(" "), /undecided with an estimate beyond the threshold/);
  assert.match(beyond.next.join(" "), /--full-samples words=900 to decide the accuracy drop/);
  const within = recommend({ ...input, trials: [baseline, verdict(0.01, "undecided")] });
  assert.equal(within.trial_id, eight.trial_id);
  assert.match(within.reasons.join(" "), /about 900 samples would decide/);
});

Deno.test("recommend() prefers what is surely within the constraints to a better reward", () => {
  assert.equal(four.constraints[0]!.verdict, "undecided");
  assert.ok(four.reward!.value > eight.reward!.value);
  const found = recommend({ spec, facts, baseline, trials, stop: "budget" });
  assert.equal(found.trial_id, eight.trial_id);
  assert.deepEqual(
    found.best,
    frontOf(comparableStudy(trials, spec)).members.map(({ trial }) => trial.trial_id),
  );
  assert.match(found.next.join(" "), /ended by the time it had/);
});

Deno.test("recommend() keeps the original where no reward beats its own", () => {
  const terms = eight.reward!.terms.slice(0, 1).map((one) => ({ ...one, contribution: -1 }));
  const poor = { ...eight, reward: { value: -1, terms } };
  const input = { spec, facts, baseline, stop: "exhausted" as const };
  const found = recommend({ ...input, trials: [baseline, poor] });
  assert.equal(found.keep_original, true);
  assert.match(
    found.reasons.join(" "),
    /1 of 1 evaluated in full is on the front, with a reward that is not above/,
  );
});

Deno.test("recommend() keeps an original without a right answer: nothing shows a loss there", () => {
  const without = (trial: Trial): Trial => ({
    ...trial,
    measurements: trial.measurements.map((row) =>
      row.metric === "accuracy" ? { ...row, value: 0 } : row
    ),
  });
  const input = { spec, facts, baseline: without(baseline), stop: "exhausted" as const };
  const found = recommend({ ...input, trials: [input.baseline, without(eight)] });
  assert.equal(found.keep_original, true);
  assert.match(found.reasons.join(" "), /^Keep the original: it has no right answer itself/);
  assert.match(found.next[0]!, /a dataset of which the original gets some answers right/);
});

Deno.test("resultVector() has the requirements' keys, null for what was not measured", () => {
  const vector = resultVector(eight, spec, facts);
  assert.deepEqual(Object.keys(vector), Object.keys(ResultVector.shape));
  assert.equal(vector.gsm8k_accuracy, null);
  assert.equal(vector.humaneval_pass_rate, null);
  assert.equal(vector.accuracy, 0.64);
  assert.equal(vector.memory_gb, (138_703_125 + 100e6) / 1e9);
  assert.equal(vector.energy_j_per_1k_tokens, 9);
  assert.equal(vector.valid, true);
  const sums = { ...figure("accuracy", 0.25, null, null), task: "gsm8k_cot", task_version: "3" };
  assert.equal(resultVector(withRows(eight, [sums]), spec, facts).gsm8k_accuracy, 0.25);
  assert.equal(resultVector(baseline, spec, facts).strategy_id, "baseline");
});

Deno.test("resultReport() names the base of its compression ratio, the original's beside it", () => {
  const report = ResultReport.parse(resultReport(eight, spec, facts));
  assert.equal(report.compression_base, "fp16");
  assert.equal(report.compression_ratio, 269_000_000 / 138_703_125);
  assert.equal(report.compression_ratio_to_original, 538_000_000 / 138_703_125);
  assert.deepEqual(report.benchmark_results["words"], { accuracy: 0.64, n_samples: 400 });
  assert.ok("perplexity" in report.benchmark_results["words_text"]!);
  assert.equal(report.aggregate_accuracy, 0.64);
  assert.equal(report.energy_provenance, "estimated");
});

Deno.test("a trial that ended early exports nulls and is not valid", () => {
  const early = { ...two, measurements: [], latency: null };
  const report = resultReport(early, spec, facts);
  assert.deepEqual(report.benchmark_results, {});
  assert.equal(report.model_size_gb, null);
  assert.equal(report.compression_ratio, null);
  assert.equal(report.latency_ms, null);
  assert.equal(report.valid, false);
});
