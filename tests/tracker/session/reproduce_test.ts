import assert from "node:assert/strict";
import { type Measurement, type Reproduced } from "../../../core/mod.ts";
import {
  differencesOf,
  driftOf,
  type OneTrial,
} from "../../../tracker/exchange/reproduce/compare_recorded.ts";
import {
  RecordedStudy,
  recordedStudy,
  type RecordedTrial,
} from "../../../tracker/lab/recorded_trial.ts";
import { climbedRungs, repeatedRequest } from "../../../tracker/session/repeat_trial.ts";
import { driftText, trialNamed } from "../../../tracker/commands/exchange/reproduce.ts";
import { openStore } from "../../../tracker/store/store.ts";
import { inDirectory } from "../../fixtures/stores/processes.ts";
import {
  AT,
  measurement,
  PROVENANCE,
  STUDY,
  studyRecords,
  trialId,
} from "../../fixtures/stores/records.ts";

const STUDY_HERE: RecordedStudy = {
  format: "pare-recorded-1",
  study_id: STUDY,
  request: {
    kind: "search",
    ...{ model_name: "tiny", dataset: "own.jsonl", constraints: {}, seed: 7, samples: {} },
    ...{ strategies: [], plugins: [], trust_remote_code: false, allow_unsafe_code: false },
    ...{ max_trials: 3, budget_seconds: 60, sampler: "random", methods: ["rtn"] },
  },
  model: [{ path: "model.safetensors", bytes: 4, sha256: "a" }],
  dataset_sha256: "d",
  machine: { device: "this one" },
  recommended: null,
  trials: [],
};

/** A timed figure of five repeats. */
function timed(value: number): Measurement {
  const { runtime: _, ...rest } = measurement("latency_ms", value);
  return { ...rest, runtime: "openvino", n: 5, standard_error: 0.1 };
}

const TRIAL: RecordedTrial = {
  trial_id: trialId(1),
  state: "completed",
  fidelity: "full",
  actions: [{ agent: "quantization", method: "rtn", params: { bits: 4 } }],
  provenance: PROVENANCE,
  artifact: [{ path: "model.safetensors", bytes: 2, sha256: "x" }],
  measurements: [measurement("size_bytes", 100), timed(10)],
  answers: [{ task: "own", fidelity: "full", protocol: "p", samples: { s1: "1", s2: "2" } }],
};

function pair(trial: Partial<RecordedTrial>, study: Partial<RecordedStudy> = {}) {
  const recorded: OneTrial = { study: STUDY_HERE, trial: TRIAL };
  const again: OneTrial = { study: { ...STUDY_HERE, ...study }, trial: { ...TRIAL, ...trial } };
  return {
    verdicts: driftOf(recorded, again).map(({ verdict, reason }) => [verdict, reason]),
    differences: differencesOf(recorded, again).map(({ what, name }) => `${what} ${name}`),
  };
}

Deno.test("a repetition is equal, within noise or different, and says of what", () => {
  const equal = ["equal", null];
  assert.deepEqual(pair({}), { verdicts: [equal, equal, equal, equal], differences: [] });

  const noisy = pair({ measurements: [measurement("size_bytes", 100), timed(10.2)] });
  assert.deepEqual(noisy.verdicts[3], ["within_noise", null]);
  const slow = pair({ measurements: [measurement("size_bytes", 101), timed(11)] });
  assert.deepEqual(slow.verdicts.slice(2), [["different", null], ["different", null]]);
  assert.deepEqual(pair({ measurements: [] }).verdicts[2], [
    "different",
    "the repetition has no such figure",
  ]);

  const beside = { ...timed(10), metric: "baseline_latency_ms" };
  const loaded = driftOf(
    { study: STUDY_HERE, trial: { ...TRIAL, measurements: [beside] } },
    { study: STUDY_HERE, trial: { ...TRIAL, measurements: [{ ...beside, value: 40 }] } },
  ).at(-1)!;
  assert.deepEqual([loaded.verdict, loaded.again], ["not_compared", 40]);

  const other = [{ path: "model.safetensors", bytes: 2, sha256: "y" }];
  assert.deepEqual(pair({ artifact: other }).verdicts[0], [
    "different",
    "other bytes: model.safetensors",
  ]);
  assert.deepEqual(pair({ artifact: null }).verdicts[0], ["different", "none was made"]);
  const answers = (samples: Record<string, string>) =>
    pair({ answers: [{ ...TRIAL.answers[0]!, samples }] }).verdicts[1];
  assert.deepEqual(answers({ s1: "1", s2: "3" }), ["different", "1 answered otherwise"]);
  assert.deepEqual(answers({ s1: "1", s3: "2" }), ["different", "1 samples are others"]);
  assert.deepEqual(answers({ s1: "1", s2: "2", s3: "3" })?.[0], "different");
});

Deno.test("a timing is judged once: by its ratio to the baseline in turn, else by the time itself", () => {
  const figures = (ms: number, ratio: number | null) => [
    timed(ms),
    // Just outside its own interval where the milliseconds are just inside theirs.
    { ...timed(1000 / ms), metric: "decode_tokens_per_s", standard_error: 0.01 },
    ...(ratio === null ? [] : [{ ...timed(ratio), metric: "latency_ratio", standard_error: 0.02 }]),
  ];
  const verdicts = (before: Measurement[], after: Measurement[]) =>
    driftOf(
      { study: STUDY_HERE, trial: { ...TRIAL, measurements: before } },
      { study: STUDY_HERE, trial: { ...TRIAL, measurements: after } },
    ).slice(2).map(({ metric, verdict, reason }) => `${metric} ${verdict}: ${reason}`);
  const inTurn = "judged by latency_ratio, to the baseline of the same minutes";
  const time = [
    `latency_ms not_compared: ${inTurn}`,
    `decode_tokens_per_s not_compared: ${inTurn}`,
  ];
  // Twice as slow beside a baseline that was twice as slow: the machine was busy.
  assert.deepEqual(verdicts(figures(10, 0.5), figures(20, 0.51)), [
    ...time,
    "latency_ratio within_noise: null",
  ]);
  assert.deepEqual(verdicts(figures(10, 0.5), figures(10.1, 0.9)), [
    ...time,
    "latency_ratio different: null",
  ]);
  const other =
    "decode_tokens_per_s not_compared: judged by latency_ms, the same timing the other " +
    "way round";
  assert.deepEqual(verdicts(figures(10, null), figures(10.2, null)), [
    "latency_ms within_noise: null",
    other,
  ]);
  assert.deepEqual(verdicts(figures(10, null), figures(20, null)), [
    "latency_ms different: null",
    other,
  ]);
});

Deno.test("a cost of another machine is not compared, and what differs is named", () => {
  const environments = { ...PROVENANCE.environments, default: "ff00" };
  const elsewhere = pair({
    measurements: [measurement("size_bytes", 100), timed(99)],
    provenance: { ...PROVENANCE, code_commit: "other", environments },
  }, { machine: { device: "that one" } });
  assert.deepEqual(elsewhere.verdicts[3], ["not_compared", "a cost of another machine"]);
  assert.deepEqual(elsewhere.differences, [
    "code commit",
    "environment default",
    "hardware device",
  ]);
});

Deno.test("a trial is repeated as it was asked for, without what ends or steers a search", () => {
  const request = repeatedRequest(STUDY_HERE, { dataset: "/here/own.jsonl" });
  assert.equal(request.seed, 7);
  assert.deepEqual(request.methods, ["rtn"]);
  assert.equal(request.fidelity, undefined, "it climbs the rungs that it climbed");
  assert.equal(request.dataset, "/here/own.jsonl");
  assert.equal(request.earlier_studies, false);
  for (const field of ["max_trials", "budget_seconds", "sampler"]) {
    assert.ok(!(field in request), field);
  }
});

Deno.test("a trial is measured again on each rung that it was measured on", () => {
  const on = (...rungs: string[]) => ({
    measurements: rungs.map((fidelity) => ({ ...measurement("accuracy", 0.5), fidelity })),
    answers: [],
  });
  const rungs = ["likelihood", "proxy", "half", "full"];
  assert.deepEqual(climbedRungs(on("full", "proxy"), rungs), ["proxy", "full"]);
  assert.deepEqual(climbedRungs(on("likelihood"), rungs), ["likelihood"]);
  assert.deepEqual(climbedRungs({ ...on(), answers: TRIAL.answers }, rungs), ["full"]);
  assert.deepEqual(climbedRungs(on(), rungs), ["likelihood"]);
});

Deno.test("a trial of which nothing was measured, or that is none, is refused in a sentence", () => {
  const failed = { ...TRIAL, state: "failed", measurements: [] };
  assert.throws(() => trialNamed({ ...STUDY_HERE, trials: [failed] }, "t01"), /nothing of it was/);
  assert.throws(() => trialNamed(STUDY_HERE, undefined), /no trial of it is recorded/);
  assert.throws(() => trialNamed({ ...STUDY_HERE, trials: [TRIAL] }, "t02"), /t02/);
});

Deno.test("drift is recorded once, asked for in SQL, and leaves the study as it was", () =>
  inDirectory(async (root) => {
    await using store = await openStore(root, { write: true });
    for (const record of studyRecords()) await store.record(record);
    const before = await recordedStudy(store, STUDY);
    assert.deepEqual(RecordedStudy.parse(JSON.parse(JSON.stringify(before))), before);
    const recorded = { study: STUDY_HERE, trial: TRIAL };
    const again = { study: STUDY_HERE, trial: { ...TRIAL, artifact: null } };
    const record: Reproduced = {
      ...{ type: "reproduced", at: AT, study_id: STUDY, trial_id: trialId(1) },
      ...{ reproduction_id: "r1", state: "completed" },
      differences: [{ what: "environment", name: "default", recorded: "aa11", again: null }],
      drift: driftOf(recorded, again),
    };
    await store.record(record);
    await store.record(record);
    const { rows } = await store.query(
      "SELECT metric, verdict, differs FROM drift WHERE verdict = 'different'",
    );
    assert.deepEqual(rows, [{
      metric: "artifact",
      verdict: "different",
      differs: ["environment default: aa11, now none"],
    }]);
    assert.deepEqual(await recordedStudy(store, STUDY), before);
    assert.match(driftText(record, "/r", []), /differs: environment default: aa11, now none/);
  }));
