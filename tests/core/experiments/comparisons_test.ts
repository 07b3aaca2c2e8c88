import assert from "node:assert/strict";
import { seededRandom } from "../../../core/random.ts";
import { compareMembers } from "../../../core/experiments/compare_members.ts";
import { compareScales } from "../../../core/experiments/compare_scales.ts";
import { compareStrategies } from "../../../core/experiments/compare_strategies.ts";
import type { MemberResult } from "../../../core/experiments/member_result.ts";
import { spentOf, useOf } from "../../../core/experiments/use.ts";

/** A member whose answers to rows of datasets are right where `right` says so; weights by dataset. */
function member(
  config_id: string,
  rows: Readonly<Record<string, readonly number[]>>,
  right: (task: string, row: number) => number,
  weights: Readonly<Record<string, number>> = {},
): MemberResult {
  const names = Object.keys(rows);
  const total = names.reduce((sum, name) => sum + (weights[name] ?? 1), 0);
  const score = { score: .5, n: 1, interval: [0, 1] as const };
  const datasets = names.map((name) => [name, {
    ...{ ...score, section: "general", weight: (weights[name] ?? 1) / total },
  }]);
  return {
    ...{ experiment: "e", config_id, llm_model: "m", eval_config: "own", num_tasks: null },
    ...{ sampling_strategy: "random", study_id: config_id, success: true, reason: null },
    timestamp: null,
    scores: {
      overall: { ...score, weight: 1 },
      sections: { general: { ...score, weight: 1 } },
      datasets: Object.fromEntries(datasets),
      left_out: [],
    },
    use: { requests: 0, read: null, written: null, money: null, seconds: null },
    samples: names.flatMap((task) =>
      rows[task]!.map((row) => ({
        ...{ task, sample_id: String(row), sample_hash: `${task} ${row}`, prompt_hash: "" },
        ...{ score: right(task, row), answer: null, gold: null, log_likelihood: null },
      }))
    ),
  };
}

const rows = (n: number) => Array.from({ length: n }, (_, i) => i);

Deno.test("members are paired on what both answered, each dataset by its weight, after Holm", () => {
  const weights = { a: 3, b: 1 };
  const first = member("first", { a: rows(40), b: rows(10) }, () => 0, weights);
  const second = member(
    "second",
    { a: rows(20), b: rows(10) },
    (task) => task === "a" ? 1 : 0,
    weights,
  );
  const third = member("third", { a: rows(20), b: rows(10) }, () => 0, weights);
  const [one, none, back] = compareMembers([first, second, third], seededRandom(1));
  assert.equal(one!.n, 30);
  assert.ok(Math.abs(one!.difference - .75) < 1e-12);
  assert.ok(one!.interval[0] > .5 && one!.interval[1] <= 1);
  assert.ok(one!.p_value < .001 && one!.p_adjusted >= 2 * one!.p_value);
  assert.deepEqual([none!.difference, none!.p_adjusted], [0, 1]);
  assert.ok(back!.difference < -.7);
  const samples = third.samples.map((one) => ({ ...one, prompt_hash: "in other words" }));
  assert.deepEqual(compareMembers([first, { ...third, samples }], seededRandom(1)), []);
});

Deno.test("a score is said to move with n where more samples are another kind, and else not", () => {
  const hard = member("many", { a: rows(400) }, (_, row) => row < 40 ? 1 : row % 2);
  const [moved] = compareScales([member("few", { a: rows(40) }, () => 1), hard]);
  assert.deepEqual([moved!.moved, moved!.n, moved!.most_n], [true, 40, 400]);
  assert.ok(moved!.difference < -.4);
  const even = (id: string, n: number) => member(id, { a: rows(n) }, (_, row) => row % 2);
  assert.equal(compareScales([even("few", 40), even("many", 400)])[0]!.moved, false);
  const [same] = compareScales([even("one", 40), even("two", 40)]);
  assert.deepEqual([same!.difference, same!.interval], [0, [0, 0]], "the same answers");
});

Deno.test("the interval of a moved score holds the truth 95 times in 100", () => {
  const random = seededRandom(7);
  let held = 0;
  for (let round = 0; round < 400; round++) {
    const truth = rows(200).map(() => random() < .6 ? 1 : 0);
    const of = (id: string, n: number) => member(id, { a: rows(n) }, (_, row) => truth[row]!);
    const [low, high] = compareScales([of("few", 50), of("many", 200)])[0]!.interval;
    if (low <= 0 && high >= 0) held++;
  }
  assert.ok(held >= 370 && held <= 395, `${held} of 400`);
});

Deno.test("bias and variance of a strategy are those that its draws must have", () => {
  // Two datasets of 90 and 10 that count alike; a is never right, b always: the whole scores .5.
  const whole = member("whole", { a: rows(90), b: rows(10) }, (task) => task === "b" ? 1 : 0);
  const found = compareStrategies([whole], seededRandom(3), 20);
  const of = Object.fromEntries(found.map((one) => [one.strategy, one]));
  assert.deepEqual(found.map(({ n, of }) => [n, of]), [[20, 100], [20, 100], [20, 100]]);
  assert.ok(Math.abs(of["stratified"]!.bias) < 1e-12);
  // The first 20 are of a alone: b is not reached, and the score is 0.
  assert.ok(Math.abs(of["sequential"]!.bias + .5) < 1e-12);
  assert.equal(of["sequential"]!.draws, 1);
  // One dataset whose rows are right every other time: drawn without repeats, the variance is known.
  const one = member("one", { a: rows(100) }, (_, row) => row % 2);
  const random = compareStrategies([one], seededRandom(3), 20).find((s) =>
    s.strategy === "random"
  )!;
  const expected = .25 / 20 * (80 / 99);
  assert.ok(Math.abs(random.variance / expected - 1) < .25, `${random.variance}, ${expected}`);
  assert.ok(random.bias_interval[0] <= .02 && random.bias_interval[1] >= -.02);
});

Deno.test("what a member took counts each answer once; what was never answered counts as spent", () => {
  const begun = (request: string, asked: string, of = "s") => ({
    ...{ request, asked, of, read: 100, written: 10, money: 1 },
  });
  const lines = [
    begun("1", "x"),
    { answered: "1", seconds: 1, read: 5, written: 2, money: .5 },
    begun("2", "y"), // killed, and asked again
    begun("3", "y"),
    { answered: "3", seconds: 3, read: 7, written: 1, money: .25 },
    begun("4", "z"),
    { refused: "4", read: 0, written: 0, money: 0 },
    begun("5", "x", "other"),
    { answered: "5", seconds: 9, read: 50, written: 5, money: 2 },
  ];
  assert.deepEqual(useOf(lines, "s"), {
    requests: 2,
    read: 12,
    written: 3,
    money: .75,
    seconds: 2,
  });
  assert.deepEqual(spentOf(lines), { tokens: 7 + 110 + 8 + 55, money: .5 + 1 + .25 + 2 });
  const uncounted = [begun("1", "x"), { answered: "1", seconds: 1 }];
  assert.equal(useOf(uncounted, "s").read, null, "its server does not count");
});
