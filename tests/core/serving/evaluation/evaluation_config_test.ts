import assert from "node:assert/strict";
import { readEvaluationConfig } from "../../../../core/serving/evaluation/evaluation_config.ts";
import { EVALUATION_PRESETS } from "../../../../core/serving/evaluation/presets.ts";
import { quotasOf } from "../../../../core/serving/evaluation/quotas.ts";

type Fields = Record<string, unknown>;
const copy = (name: string) => structuredClone(EVALUATION_PRESETS[name]) as Fields;

/** Every object in a document, with its place. */
function* objects(value: unknown, place = ""): Generator<[string, Fields]> {
  if (Array.isArray(value)) {
    for (const [i, one] of value.entries()) yield* objects(one, `${place}[${i}]`);
  } else if (typeof value === "object" && value !== null) {
    yield [place, value as Fields];
    for (const [key, one] of Object.entries(value)) yield* objects(one, `${place}.${key}`);
  }
}

Deno.test("the presets are read, with the requirement's samples and seconds", () => {
  const of = (name: string) => readEvaluationConfig(copy(name));
  assert.deepEqual(["quick", "medium", "large"].map((name) => of(name).sampling.total_limit), [
    10,
    100,
    1000,
  ]);
  assert.deepEqual(["quick", "medium", "large"].map((name) => of(name).timeout_seconds), [
    300,
    600,
    900,
  ]);
  assert.deepEqual(of("large").datasets.map(({ type }) => type), [
    ...["bizfinbench", "prbench", "synthetic", "options", "crypto", "gdpval"],
  ]);
});

Deno.test("every key of every preset, misspelled, is refused with what was meant", () => {
  let seen = 0;
  for (const name of Object.keys(EVALUATION_PRESETS)) {
    const places = [...objects(copy(name))].flatMap(([place, fields]) =>
      Object.keys(fields).map((key) => [place, key] as const)
    );
    for (const [place, key] of places) {
      if (key === "type") continue; // a dataset without one is refused for that
      const document = copy(name);
      const [, fields] = [...objects(document)].find(([at]) => at === place)!;
      const wrong = `${key.slice(0, -1)}`;
      fields[wrong] = fields[key];
      delete fields[key];
      assert.throws(
        () => readEvaluationConfig(document),
        new RegExp(`Unknown field.* "${wrong}"\\. Did you mean|Cannot take`),
        `${name}${place}.${key}`,
      );
      seen++;
    }
  }
  assert.ok(seen > 100, `${seen} keys`);
});

Deno.test("what is wrong is named with its place", () => {
  const refuse = (change: (document: Fields) => void, why: RegExp) => {
    const document = copy("medium");
    change(document);
    assert.throws(() => readEvaluationConfig(document), why);
  };
  const datasets = (document: Fields) => document["datasets"] as Fields[];
  refuse(
    (d) => datasets(d)[0]!["languages"] = ["en", "fr"],
    /Cannot take datasets\[0\]\.languages\[1\]: it is one of en, cn/,
  );
  refuse((d) => datasets(d)[1]!["limit"] = 0, /Cannot take datasets\[1\]\.limit/);
  refuse(
    (d) => datasets(d)[1]!["limt"] = 3,
    /field of datasets\[1\] "limt"\. Did you mean "limit"/,
  );
  refuse((d) => datasets(d).push({ type: "options", path: "x" }), /dataset "options" twice/);
  refuse(
    (d) => (d["sampling"] as Fields)["strategy"] = "stratifed",
    /sampling\.strategy: it is one of stratified/,
  );
  refuse(
    (d) => (d["sampling"] as Fields)["sed"] = 1,
    /field of sampling "sed"\. Did you mean "seed"/,
  );
  refuse((d) => {
    const { score_weights } = datasets(d)[4]!["evaluation"] as { score_weights: Fields };
    score_weights["meta"] = .2;
  }, /must add up to 1/);
  refuse((d) => d["datasets"] = [], /Cannot take datasets/);
});

Deno.test("any other type is a task by name, with the fields that all datasets have", () => {
  const config = readEvaluationConfig({
    name: "own",
    datasets: [{ type: "gsm8k", limit: 5 }, { type: "mmlu" }],
  });
  assert.deepEqual(config.datasets[0], { type: "gsm8k", limit: 5, weight: 1, shuffle: false });
  assert.equal(config.sampling.seed, 42);
  assert.throws(
    () => readEvaluationConfig({ name: "own", datasets: [{ type: "gsm8k", path: "x" }] }),
    /"path"/,
  );
});

function quotas(
  strategy: string,
  total_limit: number | undefined,
  entries: readonly [number | undefined, number][],
) {
  return quotasOf(readEvaluationConfig({
    name: "own",
    datasets: entries.map(([limit, weight], i) => ({
      type: `t${i}`,
      ...(limit === undefined ? {} : { limit }),
      weight,
    })),
    sampling: { strategy, ...(total_limit === undefined ? {} : { total_limit }) },
  })).map(({ samples }) => samples);
}

Deno.test("quotasOf() gives out the total exactly, none above its limit", () => {
  assert.deepEqual(quotas("stratified", 10, [[3, 1], [4, 1], [3, 1]]), [3, 4, 3]);
  assert.deepEqual(
    quotas("stratified", 100, [[48, 1], [20, 1], [20, 1], [20, 1], [6, 1], [10, 1]]),
    [
      ...[24, 20, 20, 20, 6, 10],
    ],
  );
  assert.deepEqual(quotas("stratified", 10, [[undefined, 1], [undefined, 1], [undefined, 1]]), [
    4,
    3,
    3,
  ]);
  assert.deepEqual(quotas("weighted", 10, [[undefined, 3], [undefined, 1], [undefined, 1]]), [
    6,
    2,
    2,
  ]);
  assert.deepEqual(quotas("weighted", 10, [[2, 3], [undefined, 1], [undefined, 1]]), [2, 4, 4]);
  assert.deepEqual(quotas("sequential", 10, [[4, 1], [20, 1], [5, 1]]), [4, 6, 0]);
  assert.deepEqual(quotas("random", 30, [[10, 1], [50, 1]]), [5, 25]);
  assert.deepEqual(quotas("stratified", 1000, [[10, 1], [5, 1]]), [10, 5]);
  assert.deepEqual(quotas("stratified", undefined, [[10, 1], [undefined, 1]]), [10, null]);
  for (let total = 1; total < 60; total++) {
    const shares = quotas("weighted", total, [[7, 2], [9, 1], [undefined, .5]]);
    assert.equal(shares.reduce((sum, one) => sum! + one!, 0), total);
  }
});

Deno.test("a dataset's tasks by languages, with a limit each, are its most", () => {
  const config = readEvaluationConfig(copy("large"));
  const [bizfin] = quotasOf({
    ...config,
    sampling: { ...config.sampling, total_limit: undefined },
  });
  assert.equal(bizfin!.samples, 7 * 2 * 50);
  assert.equal(bizfin!.weight, 1 / 6);
});
