/** The reward weighs what the front names, and nothing else. */
import assert from "node:assert/strict";
import { METRICS, rewardOf, rewardWeights, WEIGHTS } from "../../core/mod.ts";
import { figure, world } from "./study_world.ts";

const { spec, facts } = world().input();

const overall = (value: number, metric = "accuracy") => ({
  ...figure(metric, value, null, 0.01),
  fidelity: "full" as const,
});

Deno.test("what the front names has a weight, and none else", () => {
  const of = (...metrics: string[]) => {
    const objectives = metrics.map((name) => {
      const { name: metric, direction, unit } = METRICS.find((one) => one.name === name)!;
      return { metric, direction, unit };
    });
    const weights = rewardWeights({ primary_objective: "accuracy", objectives }, undefined);
    const named = WEIGHTS.filter((name) => (weights[name] ?? 0) > 0);
    const sum = named.reduce((total, name) => total + weights[name]!, 0);
    assert.ok(Math.abs(sum - 1) < 1e-12, metrics.join());
    return [...named].sort();
  };
  assert.deepEqual(of("accuracy", "latency_ms", "size_bytes"), ["accuracy", "latency", "size"]);
  assert.deepEqual(of("perplexity", "size_bytes", "kl"), ["accuracy", "distance", "size"]);
  assert.deepEqual(of("kl", "size_bytes"), ["distance", "size"]);
  assert.deepEqual(of("accuracy", "prefill_tokens_per_s"), ["accuracy", "latency"]);
  for (const { name, weight, objective } of METRICS) {
    if (objective) {
      assert.notEqual(weight, undefined, `${name} may be in a front and has no weight`);
    }
  }
});

Deno.test("of two files of the same bytes the nearer to the original has the better reward, where the front asks", () => {
  const objectives = ["accuracy", "kl", "size_bytes"].map((metric) => ({
    ...{ metric, unit: "1" },
    direction: metric === "accuracy" ? "maximize" as const : "minimize" as const,
  }));
  const rewarded = (kl: number, front = objectives) => {
    const reward_weights = rewardWeights(
      { primary_objective: "accuracy", objectives: front },
      undefined,
    );
    return rewardOf({
      spec: { ...spec, objectives: front, reward_weights },
      facts,
      fidelity: "full",
      baseline: [overall(0.8), overall(0, "kl"), figure("size_bytes", 4e8, null, null)],
      measurements: [overall(0.7), overall(kl, "kl"), figure("size_bytes", 1e8, null, null)],
      constraints: [],
    });
  };
  assert.ok(rewarded(0.594).value > rewarded(0.82).value);
  // 0.6·0.875 − 0.2·(1 − e^−0.594) − 0.2·0.25
  assert.ok(Math.abs(rewarded(0.594).value - (0.475 - 0.2 * (1 - Math.exp(-0.594)))) < 1e-12);
  const without = objectives.filter(({ metric }) => metric !== "kl");
  assert.equal(rewarded(0.594, without).value, rewarded(0.82, without).value, "nobody asked");
});

Deno.test("tokens a second weigh as the time that they are", () => {
  const [metric, direction, unit] = ["prefill_tokens_per_s", "maximize", "tokens/s"] as const;
  const rows = (ms: number) => [
    overall(0.8),
    figure("prefill_ms_per_token", ms, spec.runtime, null),
    figure(metric, 1000 / ms, spec.runtime, null),
  ];
  const { terms } = rewardOf({
    spec: {
      ...spec,
      objectives: [...spec.objectives.slice(0, 1), { metric, direction, unit }],
      reward_weights: { accuracy: 0.5, latency: 0.5, memory: 0, energy: 0 },
    },
    facts,
    fidelity: "full",
    baseline: rows(10),
    measurements: rows(5),
    constraints: [],
  });
  assert.equal(terms.find(({ term }) => term === "latency")!.normalised, 0.5);
});
