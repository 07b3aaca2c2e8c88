import assert from "node:assert/strict";
import { agents, plugins, request, smallFacts, tasks, withDataset } from "./spec_fixtures.ts";
import { classifyDataset, inferSpec, UsageError } from "../../core/mod.ts";

const sets = agents.flatMap((agent) => agent.benchmark_sets ?? []);
const small = smallFacts();

const specFor = (dataset: string, more: Parameters<typeof request>[0] = {}) =>
  inferSpec(request({ dataset, ...more }), withDataset(small, dataset), plugins);

const taskNames = (dataset: string) => specFor(dataset).tasks.map((task) => task.task);

Deno.test("classifyDataset() knows the requirements' datasets", () => {
  const expected: Record<string, string> = {
    gsm8k: "math",
    "openai/GSM-8K": "math",
    hendrycks_math: "math",
    code: "code",
    mbpp: "code",
    reasoning: "reasoning",
    bbh: "reasoning",
    general: "general",
    default: "general",
    lambada_openai: "language",
    "wikitext-103": "language",
    sharegpt: "chat",
    "something nobody knows": "chat",
    "my.jsonl": "custom",
  };
  for (const [dataset, dataset_class] of Object.entries(expected)) {
    const found = classifyDataset({ dataset, kind: "named" }, sets);
    assert.equal(found.dataset_class, dataset_class, dataset);
  }
  assert.equal(classifyDataset({ dataset: "lines", kind: "file" }, sets).dataset_class, "custom");
});

Deno.test("a dataset's set decides its tasks: 100 and 1000 samples of the sums", () => {
  assert.deepEqual(specFor("gsm8k").tasks, [{
    metric: "accuracy",
    task: "sums",
    task_version: "1",
    primary: true,
    chance: 0,
  }]);
  assert.deepEqual(specFor("gsm8k").rungs, [
    { fidelity: "proxy", samples: { sums: 100 } },
    { fidelity: "full", samples: { sums: 1000 } },
  ]);
  assert.deepEqual(specFor("gsm8k").missing_tasks, []);
});

Deno.test("a task that claims the dataset's name joins; perplexity is then not the primary", () => {
  const spec = specFor("words");
  assert.deepEqual(spec.tasks.map((task) => [task.task, task.primary]), [
    ["words", true],
    ["words_text", false],
  ]);
});

Deno.test("what a set asks for and nobody offers is named with a reason", () => {
  const spec = specFor("general");
  assert.deepEqual(spec.tasks.map((task) => task.task), ["sums"]);
  const missing = spec.missing_tasks.map((one) => one.task);
  assert.deepEqual(missing, ["knowledge", "truth", "programs", "puzzles"]);
  assert.ok(spec.missing_tasks.every((one) => one.reason.includes("no plugin")));
  assert.match(
    spec.warnings[0] ?? "",
    /asks for knowledge, truth, programs, puzzles, which.*measured on sums alone/,
  );
});

Deno.test("a set of which nothing can be had is refused, and the sentence names what can", () => {
  assert.throws(() => specFor("code"), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /none of its benchmarks is available yet: it asks for programs/);
    assert.match(error.message, /Available:.*general.*gsm8k.*wikitext2.*words.*\.jsonl/);
    assert.doesNotMatch(error.message, /Available:.*\b(code|reasoning|custom_text)\b/);
    return true;
  });
});

Deno.test("a name nearly right is answered with the right one", () => {
  assert.throws(() => specFor("gms8k"), /Unknown dataset "gms8k". Did you mean "gsm8k"/);
  assert.throws(() => specFor("wrods"), /Did you mean "words"/);
});

Deno.test("an unknown dataset is treated as chat, is missing itself and its stand-in is said", () => {
  const spec = specFor("quarterly-support-tickets");
  assert.equal(spec.dataset_class, "chat");
  assert.equal(spec.primary_objective, "latency");
  assert.equal(spec.missing_tasks[0]?.task, "quarterly-support-tickets");
  assert.ok(spec.warnings[0]?.includes("treated as chat"));
  const assumed = spec.assumptions.find((one) => one.field === "dataset_class");
  assert.equal(assumed?.source, "default");
});

Deno.test("a benchmark that a set waits for is refused, not measured on others", () => {
  assert.throws(
    () => specFor("Truth"),
    /Cannot evaluate on "Truth" as none of its benchmarks is available yet: it asks for Truth/,
  );
});

Deno.test("an unlisted math dataset is measured on the math set, and that is said", () => {
  const spec = specFor("minerva_math");
  assert.deepEqual(spec.tasks.map((task) => task.task), ["sums"]);
  assert.equal(spec.missing_tasks[0]?.task, "minerva_math");
  assert.equal(spec.primary_objective, "accuracy");
});

Deno.test("a user's file takes the task of its lines, whatever its name", () => {
  const spec = (format: "prompt_answer" | "text" | null) =>
    inferSpec(
      request(),
      withDataset(small, "math.jsonl", { kind: "file", path: "/data/math.jsonl", format }),
      plugins,
    );
  assert.deepEqual(spec("prompt_answer").tasks.map((t) => t.task), ["custom_prompt_answer"]);
  assert.equal(spec("prompt_answer").dataset_class, "custom");
  assert.equal(spec("text").objectives[0]?.metric, "perplexity");
  assert.throws(() => spec(null), /math.jsonl.*must hold.*found neither/);
});

Deno.test("a request's sample counts stand over the tasks', and a proxy is never the larger", () => {
  const counts = (samples: { proxy?: number; full?: number }) => {
    const { tasks, rungs } = specFor("gsm8k", { samples });
    return rungs.map((rung) => rung.samples[tasks[0]!.task]);
  };
  assert.deepEqual(counts({ proxy: 20 }), [20, 1000]);
  assert.deepEqual(counts({ full: 50 }), [50, 50]);
  const fields = specFor("gsm8k", { samples: { proxy: 20 } }).assumptions.map((a) => a.field);
  assert.ok(fields.includes("samples.full") && !fields.includes("samples.proxy"));
});

Deno.test("spelling of a dataset does not matter", () => {
  assert.deepEqual(taskNames("WikiText_2"), ["pages"]);
  assert.deepEqual(taskNames("GSM8K"), ["sums"]);
  assert.equal(tasks.length, 6);
});

Deno.test("several names, separated by commas, ask for all of their tasks, each once", () => {
  assert.deepEqual(taskNames("words, gsm8k,sums"), ["words", "words_text", "sums"]);
  assert.equal(specFor("words,gsm8k").dataset_class, "general");
  assert.equal(specFor("gsm8k,openai/GSM-8K").dataset_class, "math");
  const spec = specFor("gsm8k,general");
  assert.deepEqual(spec.tasks.map((t) => t.task), ["sums"]);
  assert.equal(spec.missing_tasks.length, 4);
});

Deno.test("a name of a list that nobody knows is refused, never stood in for", () => {
  assert.throws(() => specFor("gsm8k,wrods"), /Unknown dataset "wrods". Did you mean "words"/);
  assert.throws(() => specFor("gsm8k,support-tickets"), /Unknown dataset "support-tickets"/);
});

Deno.test("a name of a list that cannot be had is left out with its reason, as long as one is left", () => {
  const { tasks, missing_tasks, warnings } = specFor("gsm8k,code");
  assert.deepEqual(tasks.map(({ task }) => task), ["sums"]);
  assert.ok(missing_tasks.length > 0);
  assert.match(warnings[0]!, new RegExp(`^${missing_tasks[0]!.task} is left out and quality is`));
  assert.throws(() => specFor("code,code"), /"code, code" as none of its benchmarks is available/);
});

Deno.test("a task counts as the user says, else as its set does, else 1", () => {
  const weighted = {
    ...plugins,
    agents: agents.map((agent) => ({
      ...agent,
      benchmark_sets: (agent.benchmark_sets ?? []).map((set) => ({
        ...set,
        ...(set.datasets.includes("words") ? { weights: { words: 0.5 } } : {}),
      })),
    })),
  };
  const weights = (task_weights?: Record<string, number>) =>
    inferSpec(
      request({ dataset: "words,gsm8k", ...(task_weights && { task_weights }) }),
      withDataset(small, "words,gsm8k"),
      weighted,
    ).tasks.map(({ task, weight }) => [task, weight]);
  assert.deepEqual(weights(), [["words", 0.5], ["words_text", undefined], ["sums", undefined]]);
  assert.deepEqual(weights({ words: 3, sums: 2 })[0], ["words", 3]);
  assert.throws(() => weights({ sum: 2 }), /Unknown task to weigh "sum". Did you mean "sums"/);
});

Deno.test("a set says why a benchmark cannot be had", () => {
  const telling = {
    ...plugins,
    agents: agents.map((agent) => ({
      ...agent,
      benchmark_sets: (agent.benchmark_sets ?? []).map((set) => ({
        ...set,
        reasons: { programs: "it needs a sandbox" },
      })),
    })),
  };
  const infer = (dataset: string) =>
    inferSpec(request({ dataset }), withDataset(small, dataset), telling);
  assert.throws(() => infer("code"), /Cannot evaluate on "code": programs: it needs a sandbox$/);
  assert.throws(() => infer("Programs"), /Cannot evaluate on "Programs": it needs a sandbox$/);
  const { missing_tasks, warnings } = infer("general");
  const programs = missing_tasks.find(({ task }) => task === "programs");
  assert.equal(programs?.reason, 'it needs a sandbox; "general" asks for it');
  assert.match(warnings[0] ?? "", /not have yet \(programs: it needs a sandbox\): quality/);
});

Deno.test("a sampling limit stands over every task's own count", () => {
  const sampling = { strategy: "random", shuffle: true, limit: 30 } as const;
  const { tasks, rungs } = specFor("gsm8k", { sampling, samples: { full: 200 } });
  assert.deepEqual(rungs.map(({ samples }) => samples[tasks[0]!.task]), [30, 30]);
  const assumed = (more: Parameters<typeof specFor>[1]) =>
    specFor("gsm8k", more).assumptions.map(({ field }) => field)
      .filter((field) => field.startsWith("sampl"));
  assert.deepEqual(assumed({}), ["samples.proxy", "samples.full", "sampling"]);
  assert.deepEqual(assumed({ sampling }), ["samples.proxy"]);
});
