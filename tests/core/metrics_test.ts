import assert from "node:assert/strict";
import {
  defineTask,
  inferSpec,
  inLimitUnit,
  isShare,
  knownMetric,
  limitUnit,
  makeRegistry,
  type Measurement,
  METRICS,
  QUALITY,
  RATIOS,
  reportedName,
  WEIGHTS,
  withAggregates,
} from "../../core/mod.ts";
import { plugins, request, scorers, smallFacts, tasks } from "./spec_fixtures.ts";
import { figure } from "./study_world.ts";

Deno.test("a metric has one entry, and no name, short name or alias means two", () => {
  const names = METRICS.flatMap(({ name, short, aliases = [] }) => [
    name,
    ...(short === undefined ? [] : [short]),
    ...aliases,
  ]);
  assert.deepEqual(names.filter((name, i) => names.indexOf(name) !== i), []);
  assert.equal(RATIOS.size, METRICS.filter(({ ratio }) => ratio !== undefined).length);
  for (const { name, kind, direction, scale, column, objective } of METRICS) {
    assert.ok(scale === "open" || (kind === "quality" && direction === "maximize"), name);
    // Measured of trials that set a policy of the cache alone: a front would lack it of the others.
    assert.equal(column !== undefined && objective !== true, name === "kv_bytes", name);
  }
  for (const weight of WEIGHTS) assert.ok(METRICS.some((one) => one.weight === weight), weight);
});

Deno.test("a name nearly right is answered with the right one", () => {
  assert.equal(knownMetric("latency", "metric").name, "latency_ms");
  assert.throws(
    () => knownMetric("latncy", "metric"),
    { name: "UsageError", message: /^Unknown metric "latncy"\. Did you mean "latency"\?/ },
  );
});

Deno.test("a goal's figures are written in their metric's unit", () => {
  const written = (metric: string, value: number) =>
    `${inLimitUnit(`goal/${metric}`, value)}${limitUnit(`goal/${metric}`)}`;
  assert.equal(written("latency_ms", -0.25), "-0.25 ms/token");
  assert.equal(written("size_bytes", -2_500_000), "-2.5 MB");
  assert.equal(written("perplexity", 0.5), "50 %");
  assert.equal(written("accuracy", 0.5), "0.5");
  assert.equal(inLimitUnit("max_perplexity_rise", 0.5) + limitUnit("max_perplexity_rise"), "50 %");
});

Deno.test("what evaluators call a metric has one name here", () => {
  const named = ["acc_norm,none", "exact_match,get-answer", "f1", "rougeL,none", "code_sim_score"];
  assert.deepEqual(named.map(reportedName), [
    "accuracy",
    "exact_match",
    "f1",
    "rouge_l",
    "edit_similarity",
  ]);
  assert.equal(reportedName("prompt_level_strict_acc,none"), "accuracy");
  assert.equal(reportedName("likelihood,none"), "score", "a mean of shares without a name here");
});

Deno.test("a task that reports what nobody knows is refused when it is registered", () => {
  const { kind: _, ...one } = tasks[2]!;
  const of = (reported_metric: string) => () =>
    makeRegistry([
      { path: "sums.ts", plugin: defineTask({ ...one, reported_metric }) },
      { path: "scoring.ts", plugin: scorers[0]! },
    ]);
  of("f1")();
  assert.throws(of("f2"), {
    name: "UsageError",
    message: /Cannot register task "sums" of sums\.ts: Unknown reported_metric "f2"\. Did you/,
  });
});

/** A study of three tasks by three metrics, and its rows. */
function mixed() {
  const own = { sums: "f1", pages: "perplexity", words: "accuracy" } as const;
  const chosen = tasks.filter(({ name }) => name in own).map((task) => ({
    ...task,
    reported_metric: own[task.name as keyof typeof own],
  }));
  const asked = request({ dataset: "gsm8k,wikitext2,words" });
  const facts = smallFacts();
  const dataset = { ...facts.dataset, dataset: "gsm8k,wikitext2,words" };
  const spec = inferSpec(asked, { ...facts, dataset }, { ...plugins, tasks: chosen });
  const row = (task: string, metric: string, value: number): Measurement => ({
    ...figure(metric, value, null, 0.01),
    task,
    fidelity: "full",
  });
  return { spec, row };
}

Deno.test("a study's accuracy is the mean of what its tasks score from 0 to 1, and says of what", () => {
  const { spec, row } = mixed();
  assert.deepEqual(
    spec.tasks.map(({ task, metric, primary }) => [task, metric, primary]).sort(),
    [["pages", "perplexity", false], ["sums", "f1", true], ["words", "accuracy", true]],
  );
  const measurements = [
    row("sums", "f1", 0.5),
    row("sums", "exact_match", 0.1), // beside its own
    row("words", "accuracy", 0.7),
    row("pages", "perplexity", 20),
  ];
  const found = withAggregates({ measurements, samples: [], protocol: {} }, spec).measurements
    .filter(({ task }) => task === null);
  assert.deepEqual(found.map(({ metric, value }) => [metric, value]), [["accuracy", 0.6]]);
  assert.equal(
    found[0]!.method,
    "unweighted mean of 2 tasks; scores from 0 to 1: f1 of sums, accuracy of words",
  );
});

Deno.test("every quality is of a scale that tasks have a mean on, or perplexity", () => {
  assert.deepEqual(QUALITY.filter(({ name }) => !isShare(name)).map(({ name }) => name), [
    "perplexity",
  ]);
});
