import assert from "node:assert/strict";
import { request, smallFacts, tasks } from "./spec_fixtures.ts";
import {
  chooseSamples,
  type FoundTask,
  foundTask,
  inferSpec,
  planRungs,
  planTasks,
  samplingByTask,
  type StudyRequestInput,
  withoutTasks,
} from "../../core/mod.ts";
import { plugins, withDataset } from "./spec_fixtures.ts";

const two = tasks.filter(({ name }) => name === "words" || name === "sums");
const plan = (more: Partial<StudyRequestInput>) =>
  two.map((
    { name },
  ) => [name, ...planRungs(two, request(more)).map(({ samples }) => samples[name])]);

Deno.test("a benchmark's own counts stand over those of all, and its dataset's word names it", () => {
  const plain = plan({});
  const counted = plan({ samples: { proxy: 7, by_task: { gsm8k: { proxy: 5, full: 9 } } } });
  const sums = counted.find(([task]) => task === "sums");
  const words = counted.find(([task]) => task === "words");
  assert.deepEqual(sums, ["sums", 5, 9]);
  assert.deepEqual(words, ["words", 7, plain.find(([task]) => task === "words")?.[2]]);
  assert.throws(
    () => plan({ samples: { by_task: { sum: { full: 3 } } } }),
    /Unknown task to count samples of "sum". Did you mean "sums"/,
  );
});

Deno.test("a benchmark's own sampling stands in place of the study's, with the smaller limit", () => {
  const sampling = { limit: 30, by_task: { sums: { limit: 12, total_limit: 8 } } };
  const limits = Object.fromEntries(plan({ sampling }).map(([task, , full]) => [task, full]));
  assert.deepEqual(limits, { sums: 8, words: 30 });
  const own = samplingByTask(request({ sampling }).sampling, two);
  assert.deepEqual([...own.keys()], ["sums"]);
  assert.throws(
    () => plan({ sampling: { by_task: { wrods: {} } } }),
    /Unknown task to sample "wrods". Did you mean "words"/,
  );
});

Deno.test("parts of a task count by their rows where a sample does not take them by their rows", () => {
  const [words, sums] = two;
  const parts = { ...words!, definition: { metadata: { groups: { field: "subject" } } } };
  const strata = (sampling?: StudyRequestInput["sampling"]) =>
    planTasks({ tasks: [parts, sums!], weights: {} }, request({ sampling })).map((one) =>
      one.strata
    );
  assert.deepEqual(strata(), ["by_rows", undefined]);
  assert.deepEqual(strata({ strategy: "random" }), [undefined, undefined]);
  assert.deepEqual(strata({ strategy: "sequential" }), [undefined, undefined]);
  assert.deepEqual(strata({ strategy: "random", limit_per_task: 2 }), ["by_rows", undefined]);
  const own = { by_task: { [parts.name]: { strategy: "random" as const } } };
  assert.deepEqual(strata(own), [undefined, undefined]);
});

Deno.test("each task is taken by its own strategy, the proxy among the full", () => {
  const order = [7, 2, 9, 0, 5, 8, 1, 4, 6, 3];
  const pool = { order, groups: null, counts: [2, 4] };
  const first = { strategy: "sequential", shuffle: true } as const;
  const [drawn, listed] = chooseSamples([
    { task: "drawn", ...pool },
    { task: "listed", ...pool, sampling: first },
  ]);
  assert.deepEqual(drawn, { task: "drawn", rungs: [[2, 7], [0, 2, 7, 9]] });
  assert.deepEqual(listed, { task: "listed", rungs: [[0, 1], [0, 1, 2, 3]] });
});

const PIQA: FoundTask = {
  name: "piqa",
  origin: "lm_eval",
  version: "lm-eval 1.0",
  summary: "",
  lm_eval_task: "piqa",
  definition: { include: "piqa/piqa.yaml" },
  few_shot: 0,
  metric: "acc,none",
  scorers: [{ scorer: "lm_eval_metric", params: {} }],
  chance: null,
  proxy_samples: null,
  full_samples: null,
  data_file: "piqa/validation.jsonl.gz",
  example_file: "train.jsonl.gz",
  data_path: null,
  member_of: [],
};

Deno.test("a found task is a benchmark that its word chooses; a plugin's name is kept apart", () => {
  const piqa = foundTask(PIQA, "lm_eval:piqa", two, null);
  assert.deepEqual([piqa.name, piqa.datasets, piqa.shipped, piqa.chance], [
    "piqa",
    ["lm_eval:piqa"],
    false,
    null,
  ]);
  assert.ok(!("chance" in planTasks({ tasks: [piqa], weights: {} }, request())[0]!));
  const found = { ...plugins, tasks: [...plugins.tasks, piqa] };
  const facts = withDataset(smallFacts(), "lm_eval:piqa,words");
  const spec = inferSpec(request({ dataset: "lm_eval:piqa,words" }), facts, found);
  assert.deepEqual(spec.tasks.map(({ task }) => task), ["piqa", "words", "words_text"]);
  const sums = { ...PIQA, name: "sums" };
  assert.equal(foundTask(sums, "lm_eval:sums", two, null).name, "lm_eval:sums");
  assert.throws(
    () => foundTask({ ...sums, origin: "file" }, "own.yaml", two, null),
    /own\.yaml as its task is called "sums", as a benchmark of this project is/,
  );
  const local = { rows: "file:///d/rows.jsonl", examples: "/d/train.jsonl" };
  const at = foundTask(PIQA, "piqa", two, local);
  assert.deepEqual([at.shipped, at.data_file], [true, "file:///d/rows.jsonl"]);
  assert.deepEqual(at.definition?.["dataset_kwargs"], { data_files: { train: "/d/train.jsonl" } });
});

Deno.test("a spec without a broken benchmark says so; without any left it is refused", () => {
  const spec = inferSpec(
    request({ dataset: "words,gsm8k" }),
    withDataset(smallFacts(), "words,gsm8k"),
    plugins,
  );
  const broken = { task: "sums", reason: "Cannot read line 3 of d.jsonl: it is no JSON" };
  const left = withoutTasks(spec, [broken]);
  assert.deepEqual(left.tasks.map(({ task }) => task), ["words", "words_text"]);
  assert.deepEqual(left.missing_tasks, [broken]);
  assert.match(left.warnings.at(-1)!, /sums is left out .* words, words_text alone: .*line 3/);
  const reasons = [broken, { task: "words", reason: "it is empty" }];
  assert.throws(() => withoutTasks(spec, reasons), /line 3 of d.jsonl.*; it is empty/);
});
