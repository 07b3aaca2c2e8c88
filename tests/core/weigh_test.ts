/** A study weighed anew, and fronts of two to six objectives. */
import assert from "node:assert/strict";
import {
  comparableStudy,
  frontEstimate,
  paretoFront,
  profileOf,
  type Rival,
  type Spec,
  streamRandom,
  StudyRequest,
  weigh,
  weighable,
  WEIGHTS,
  yardstickOf,
} from "../../core/mod.ts";
import { chosenBy } from "../../tracker/show/pages/client/weights.js";
import { contender, rival, spec as small } from "./front_rivals.ts";
import { figure, run, world } from "./study_world.ts";

const w = world();
const { trials, recommendation } = await run(w);
const { spec, facts, request } = w.input();
const input = { spec, facts, trials, request, stop: "exhausted" } as const;

Deno.test("weighing a study by its own weights changes nothing", () => {
  const named = WEIGHTS.flatMap((name) => {
    const weight = spec.reward_weights[name] ?? 0;
    return weight > 0 ? [[name, weight]] : [];
  });
  const found = weigh(input, Object.fromEntries(named));
  assert.equal(found.recommendation.trial_id, recommendation!.trial_id);
  const compared = comparableStudy(trials, spec).trials;
  const rewards = new Map(compared.map(({ trial_id, reward }) => [trial_id, reward?.value]));
  for (const { trial_id, reward } of found.ranking) {
    assert.ok(Math.abs(reward! - rewards.get(trial_id)!) < 1e-9, trial_id);
  }
  assert.deepEqual(found.left_out, []);
  assert.match(weigh(input, { accuracy: 1, energy: 1 }).left_out.join(), /^energy: .*estimate/);
});

Deno.test("other weights pick another point of the same front, and nothing is run", () => {
  const calls = w.calls.length;
  const records = w.records.length;
  const right = weigh(input, { accuracy: 1 });
  const small = weigh(input, { accuracy: 0.1, memory: 9 });
  assert.deepEqual(
    [right, small].map(({ ranking }) => ranking.map(({ trial_id }) => trial_id).sort()),
    [right, right].map(({ ranking }) => ranking.map(({ trial_id }) => trial_id).sort()),
  );
  assert.notEqual(right.ranking[0]!.trial_id, small.ranking[0]!.trial_id);
  const bytes = (id: string) =>
    trials.find(({ trial_id }) => trial_id === id)!.measurements
      .findLast(({ metric }) => metric === "size_bytes")!.value;
  const [first, ...rest] = small.ranking.map(({ trial_id }) => bytes(trial_id));
  assert.ok(rest.every((one) => first! <= one), "the smallest leads where memory is all");
  assert.ok(Math.abs(small.weights.memory - 9 / 9.1) < 1e-12);
  assert.deepEqual([w.calls.length, w.records.length], [calls, records]);
});

Deno.test("of equal rewards the one that dominates the original is chosen, here and on a page", () => {
  const baseline = trials.find(({ strategy }) => strategy === null)!;
  const other = trials.find(({ strategy, state }) => strategy !== null && state === "completed")!;
  const smaller = {
    ...other,
    constraints: [],
    measurements: baseline.measurements.map((row) =>
      /^(size_bytes|latency_ms)$/.test(row.metric) ? { ...row, value: row.value / 2 } : row
    ),
  };
  const two = { ...input, trials: [baseline, smaller] };
  const { recommendation } = weigh(two, { accuracy: 1 });
  assert.equal(recommendation.trial_id, smaller.trial_id);
  assert.equal(chosenBy(weighable(two)!, { accuracy: 1 })?.trial_id, smaller.trial_id);
  const same = {
    ...input,
    trials: [baseline, { ...smaller, measurements: baseline.measurements }],
  };
  assert.equal(weigh(same, { accuracy: 1 }).recommendation.keep_original, true);
  assert.equal(chosenBy(weighable(same)!, { accuracy: 1 }), null);
});

Deno.test("what cannot be weighed is refused in words", () => {
  const refused = (work: () => unknown, message: RegExp) =>
    assert.throws(work, { name: "UsageError", message });
  refused(() => weigh(input, { accuracy: 0 }), /at least one weight must be above 0/);
  refused(() => weigh({ ...input, trials: [] }, { accuracy: 1 }), /its baseline was not measured/);
  const profiles = [{ name: "edge", describes: "", weights: { memory: 1 } }];
  refused(() => profileOf("edgy", profiles), /Unknown profile "edgy"\. Did you mean "edge"\?/);
});

const MORE = [
  "memory_bytes",
  "prefill_ms_per_token",
  "decode_tokens_per_s",
  "energy_j_per_1k_tokens",
];

/** A trial with so many objectives beside accuracy and bytes, its figures drawn. */
function withMore(one: Rival, count: number, random: () => number): Rival {
  const rows = MORE.slice(0, count).map((metric) => figure(metric, 1 + random(), null, 0.01));
  return { ...one, measurements: [...one.measurements, ...rows] };
}

Deno.test("a front of two to six objectives has its probabilities and the interval of its volume", () => {
  for (const count of [0, 1, 2, 3, 4]) {
    const random = streamRandom(count, "objectives");
    const more = MORE.slice(0, count).map((metric) => ({
      metric,
      direction: metric === "decode_tokens_per_s" ? "maximize" as const : "minimize" as const,
      unit: "1",
    }));
    const of: Spec = { ...small, objectives: [...small.objectives, ...more] };
    const scores = (right: number) => Array.from({ length: 60 }, (_, i) => i < right ? 1 : 0);
    const rivals = [40, 38, 35, 30, 20, 10].map((right, i) =>
      withMore(rival(scores(right), i === 0 ? 1 : 0.9 - 0.1 * i), count, random)
    );
    const points = rivals.map(({ measurements }) =>
      of.objectives.map(({ metric }) =>
        measurements.findLast((row) => row.metric === metric)!.value
      )
    );
    const yardstick = yardstickOf(of.objectives, points[0]!, 1);
    const { probability, hypervolume_interval } = frontEstimate(
      rivals.map((one, i) => contender(`t${i}`, one)),
      of,
      random,
      { resamples: 60, yardstick },
    );
    const [low, high] = hypervolume_interval!;
    assert.ok(low >= 0 && low <= high && Number.isFinite(high), `${count}: ${low} ${high}`);
    const directions = of.objectives.map(({ direction }) => direction);
    for (const i of paretoFront(points, directions)) {
      assert.ok(probability.get(`t${i}`)! > 0, `${count} more: t${i} is on the front`);
    }
    assert.equal(probability.get("t5"), 1, "the smallest is best in an exact objective");
  }
  const asked = (front: string[]) =>
    StudyRequest.safeParse({ model_name: "m", dataset: "d", front }).success;
  const six = ["accuracy", "size", "memory", "latency", "prefill_tokens_per_s", "energy"];
  assert.deepEqual([asked(six), asked([...six, "co2"]), asked(["accuracy"])], [true, false, false]);
});

Deno.test("a page without the study chooses by weights as weigh() does, whatever they are", () => {
  // With limits that all keep to, the smaller and the more accurate of the front are both in reach.
  const free = { ...input, trials: trials.map((one) => ({ ...one, constraints: [] })) };
  const told = weighable(free)!;
  assert.deepEqual(told.weights, spec.reward_weights);
  const random = streamRandom(7, "weights");
  const picks = new Set<string>();
  for (let round = 0; round < 40; round++) {
    const given = Object.fromEntries(WEIGHTS.map((name) => [name, random() < 0.3 ? 0 : random()]));
    if (Object.values(given).every((one) => one === 0)) continue;
    const { recommendation } = weigh(free, given);
    const expected = recommendation.keep_original ? null : recommendation.trial_id;
    assert.equal(chosenBy(told, given)?.trial_id ?? null, expected, JSON.stringify(given));
    picks.add(String(expected));
  }
  assert.ok(picks.size > 1, "the weights matter");
  assert.equal(chosenBy(told, { accuracy: 0 }), null);
  assert.equal(weighable({ ...input, trials: [] }), null);
});
