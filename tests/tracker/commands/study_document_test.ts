import assert from "node:assert/strict";
import {
  parseBytes,
  parseDuration,
  parseObjectives,
} from "../../../tracker/ground/terminal/parse_values.ts";
import { resumedRequest } from "../../../tracker/lab/find_study.ts";
import { checkStudy } from "../../../tracker/lab/check_study.ts";
import {
  limitsFromOptions,
  studyFromOptions,
} from "../../../tracker/commands/input/study_document.ts";

Deno.test("studyFromOptions() turns the command line into a study", () => {
  const study = studyFromOptions({
    model: "demo",
    dataset: "demo",
    budget: "2h",
    maxAccuracyDrop: "0.05",
    objectives: "accuracy=0.6,latency=0.2",
    methods: "rtn, gptq",
    proxySamples: "50",
    samplesPerProblem: "20",
    unsafeCode: true,
  });
  assert.equal(study.budget_seconds, 7200);
  assert.deepEqual(study.constraints, { max_accuracy_drop: 0.05 });
  assert.deepEqual(study.objectives, { accuracy: 0.6, latency: 0.2 });
  assert.deepEqual(study.methods, ["rtn", "gptq"]);
  assert.deepEqual(study.samples, { proxy: 50 });
  assert.deepEqual([study.samples_per_problem, study.allow_unsafe_code], [20, true]);
  assert.equal(study.seed, 42);
});

Deno.test("limits are those of the options that are given, each by its own name", () => {
  assert.deepEqual(limitsFromOptions({}), {});
  const given = {
    budget: "90s",
    gpuHours: "0.5",
    maxTrials: "9",
    maxFullEvaluations: "4",
    convergenceEpisodes: "3",
    leastGain: "0.02",
  };
  assert.deepEqual(limitsFromOptions(given), {
    budget_seconds: 90,
    gpu_hours: 0.5,
    max_trials: 9,
    max_full_evaluations: 4,
    convergence_episodes: 3,
    least_gain_per_hour: 0.02,
  });
  const refused = () => limitsFromOptions({ maxFullEvaluations: "0" });
  assert.throws(refused, /--max-full-evaluations.*"0"/);
});

Deno.test("a study that only evaluates is not resumed with a limit of a search", () => {
  const request = checkStudy({ model_name: "m", dataset: "d", evaluation: {} }, "study");
  const refused = () => resumedRequest(request, { max_trials: 3 }, "s1");
  assert.throws(refused, /^UsageError: Cannot resume s1 with --max-trials as it only evaluates/);
  assert.equal(resumedRequest(request, {}, "s1").max_trials, undefined);
});

Deno.test("studyFromOptions() lets an option stand above the document", () => {
  const study = studyFromOptions(
    { maxTrials: "3", maxSize: "1.5" },
    { model_name: "m", dataset: "gsm8k", max_trials: 9, constraints: { max_latency_ms: 20 } },
  );
  assert.equal(study.max_trials, 3);
  assert.deepEqual(study.constraints, { max_latency_ms: 20, max_size_gb: 1.5 });
});

Deno.test("a wrong value is refused with the option and the value", () => {
  const both = { model: "m", dataset: "d" };
  assert.throws(() => studyFromOptions({ ...both, budget: "0" }), /--budget.*above 0.*"0"/);
  assert.throws(() => studyFromOptions({ ...both, budget: "soon" }), /--budget.*"soon"/);
  assert.throws(() => studyFromOptions({ ...both, maxTrials: "0" }), /--max-trials.*"0"/);
  assert.throws(() => studyFromOptions({ ...both, samplesPerProblem: "9" }), /problem.*"9"/);
  assert.throws(() => studyFromOptions({ ...both, maxVram: "-1" }), /--max-vram.*"-1"/);
  assert.throws(() => studyFromOptions({ ...both, maxAccuracyDrop: "2" }), /from 0 to 1.*"2"/);
  assert.throws(() => studyFromOptions({ dataset: "d" }), /without a model and a dataset/);
  assert.throws(() => parseObjectives("speed=1"), /Unknown objective "speed"\. Known: accuracy/);
});

Deno.test("checkStudy() answers an unknown field with the nearest one", () => {
  assert.throws(
    () => checkStudy({ model_name: "m", datset: "d" }, "study.json"),
    /study\.json: .*Unknown field "datset"\. Did you mean "dataset"\?/s,
  );
});

Deno.test("checkStudy() knows the names of each place, and shows the value that it refuses", () => {
  const refused = (more: unknown, expected: RegExp) =>
    assert.throws(() => checkStudy({ model_name: "m", dataset: "d", ...more as object }, "study"), {
      name: "UsageError",
      message: expected,
    });
  refused(
    { constraints: { max_acuracy_drop: 0.1 } },
    /field of constraints "max_acuracy_drop"\. Did you mean "max_accuracy_drop"\?/,
  );
  refused(
    { objectives: { acuracy: 1 } },
    /field of objectives "acuracy"\. Did you mean "accuracy"/,
  );
  const actions = [{ agent: "quantization", method: "rtn", parms: {} }];
  refused({ strategies: [{ actions }] }, /of strategies\.0\.actions\.0 "parms"\. .*"params"/);
  refused({ max_trials: -1 }, /^study: Cannot take "max_trials": -1 is refused \(.*>0\)$/);
  refused({ samples: { proxy: "all" } }, /"samples\.proxy": "all" is refused \(expected number/);
  refused({ model_name: undefined }, /Cannot start without "model_name": it is not given/);
  for (const document of [null, [], "x", 3]) {
    assert.throws(() => checkStudy(document, "study"), /must be an object with model_name/);
  }
});

Deno.test("a rule for a family that no model has is answered with the nearest", () => {
  const study = (family: string, more = {}) => () =>
    checkStudy({
      ...{ model_name: "m", dataset: "d", ...more },
      rules: [{
        name: "own",
        reason: "seen before",
        when: [{ samples: { below: 5 } }, { family: ["gpt2", family] }],
        recipes: [{ actions: [{ agent: "quantization", method: "rtn" }] }],
      }],
    }, "study");
  const said =
    /^UsageError: Unknown family "lama" in the rule own\. Did you mean "llama"\? .*model_type/;
  assert.throws(study("lama"), said);
  assert.throws(study("no such model"), /Unknown family "no such model" in the rule own\. It is/);
  assert.equal(study("GPT-NeoX")().rules!.length, 1, "any case, with - or _");
  // A model's own code may bring a family of its own.
  assert.equal(study("lama", { trust_remote_code: true })().rules!.length, 1);
});

Deno.test("an objective is weighed once, by a name that is known", () => {
  assert.throws(() => parseObjectives("acuracy=1"), /Unknown objective.*Did you mean "accuracy"\?/);
  assert.throws(() => parseObjectives("accuracy=0.5,accuracy=0.2"), /weighs accuracy twice/);
  assert.throws(() => parseObjectives("accuracy=2"), /WEIGHT from 0 to 1: .*"accuracy=2"/);
});

Deno.test("times and sizes are read with their units", () => {
  assert.equal(parseDuration("1.5h", "--budget"), 5400);
  assert.equal(parseDuration("90", "--budget"), 90);
  assert.equal(parseBytes("500MB", "--max-disk"), 5e8);
  assert.equal(parseBytes("2", "--max-disk"), 2e9);
  assert.throws(() => parseBytes("lots", "--max-disk"), /"lots"/);
  assert.throws(() => parseBytes("0GB", "--max-disk"), /"0GB"/);
});

Deno.test("--sampling and --task-weights become fields of the study", () => {
  const base = { model: "tiny", dataset: "mmlu,gsm8k" };
  const { sampling, task_weights } = studyFromOptions({
    ...base,
    sampling: "strategy=random, total_limit=100,limit_per_task=5,shuffle=false,seed=7",
    taskWeights: "mmlu=2, gsm8k=0.5",
  });
  assert.deepEqual(sampling, {
    strategy: "random",
    total_limit: 100,
    limit_per_task: 5,
    shuffle: false,
    seed: 7,
  });
  assert.deepEqual(task_weights, { mmlu: 2, gsm8k: 0.5 });
  assert.deepEqual(studyFromOptions({ ...base, sampling: "limit=3" }).sampling, {
    strategy: "stratified",
    shuffle: true,
    limit: 3,
  });
  const refused = (options: { sampling?: string; taskWeights?: string }, reason: RegExp) =>
    assert.throws(() => studyFromOptions({ ...base, ...options }), reason);
  refused({ sampling: "stratgy=random" }, /field of --sampling "stratgy". Did you mean "strategy"/);
  refused({ sampling: "strategy=best" }, /--sampling, strategy, as .*"strategy=best"/);
  refused({ sampling: "limit=0" }, /--sampling, limit, as .*>0.*"limit=0"/);
  refused({ sampling: "limit=" }, /--sampling, limit, as/);
  refused({ taskWeights: "mmlu=0" }, /TASK=WEIGHT.*current value is "mmlu=0"/);
  refused({ taskWeights: "mmlu" }, /TASK=WEIGHT/);
});
