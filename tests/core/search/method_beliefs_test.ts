import assert from "node:assert/strict";
import {
  beliefMoments,
  drawBelief,
  type EarlierTrial,
  methodBeliefs,
  type SearchContext,
  seededRandom,
  type Trial,
} from "../../../core/mod.ts";
import { baseline, context, recipe, type Step, trial } from "../../plugins/search_fixtures.ts";
import { run, world } from "../study_world.ts";
import bandit from "../../../plugins/search/bandit.ts";
import random from "../../../plugins/search/random.ts";

const reward = (value: number) => ({ reward: { value, terms: [] } });
const done = (number: number, value: number, ...steps: Step[]) =>
  trial(number, recipe(...steps), reward(value));
const base: Trial = { ...baseline, ...reward(0) };

function belief(method: string, trials: Trial[], more: Partial<SearchContext> = {}) {
  return methodBeliefs(context({ trials, ...more })).find((one) => one.method === method)!;
}

Deno.test("a belief starts from Beta(1, 1), and a reward moves it by the share of trials that it beats", () => {
  assert.deepEqual(belief("octet", []), {
    agent: "shrinking",
    method: "octet",
    trials: 0,
    alpha: 1,
    beta: 1,
  });
  const trials = [base, done(1, 0.3, ["octet"]), done(2, 0.2, ["round"]), done(3, -9, ["tune"])];
  // octet beats all three others; round two of three; tune none.
  assert.deepEqual([2, 1], [belief("octet", trials).alpha, belief("octet", trials).beta]);
  const round = belief("round", trials);
  assert.ok(Math.abs(round.alpha - 5 / 3) < 1e-12 && Math.abs(round.beta - 4 / 3) < 1e-12);
  assert.deepEqual([1, 2], [belief("tune", trials).alpha, belief("tune", trials).beta]);
  assert.equal(belief("gpu_only", trials), undefined, "not of the study");
});

Deno.test("ties count half, a chain shares its wins, and one trial alone has half", () => {
  const tied = [base, done(1, 0, ["octet"])];
  assert.deepEqual([1.5, 1.5], [belief("octet", tied).alpha, belief("octet", tied).beta]);
  const alone = [done(1, 5, ["octet"])];
  assert.deepEqual([1.5, 1.5], [belief("octet", alone).alpha, belief("octet", alone).beta]);
  const chain = [base, done(1, 1, ["tune"], ["round", { targets: "embedding" }])];
  for (const method of ["tune", "round"]) {
    const { alpha, beta, trials } = belief(method, chain);
    assert.deepEqual([alpha, beta, trials], [1.5, 1, 1]);
  }
  const twice = [base, done(1, 1, ["round"], ["round", { targets: "embedding" }])];
  assert.deepEqual([2, 1], [belief("round", twice).alpha, belief("round", twice).trials]);
});

Deno.test("a gate's end and a recipe's own failure lose to everything; the machine's failures, NaN and what runs say nothing", () => {
  const failed = (kind: NonNullable<Trial["failure"]>["kind"]) =>
    trial(1, recipe(["octet"]), {
      state: "failed",
      failure: { kind, message: "", hint: null, phase: null },
    });
  const moved = (one: Trial) => belief("octet", [base, one]).beta;
  assert.equal(moved(trial(1, recipe(["octet"]), { state: "stopped" })), 2);
  assert.equal(moved(failed("not_a_number")), 2);
  assert.equal(moved({ ...failed("invalid"), state: "invalid" }), 2);
  for (const kind of ["crash", "stall", "disk_full", "out_of_memory", "endpoint"] as const) {
    assert.equal(moved(failed(kind)), 1, kind);
  }
  assert.equal(moved(trial(1, recipe(["octet"]), { state: "cancelled" })), 1);
  assert.equal(moved(done(1, NaN, ["octet"])), 1);
  assert.equal(moved(trial(1, recipe(["octet"]))), 1, "no reward");
});

Deno.test("earlier studies move a belief by half their likeness, and never by more than two trials", () => {
  const { facts, spec } = context();
  const earlier = (id: number, method: string, value: number): EarlierTrial => ({
    study_id: "before",
    trial_id: `before/t${id}`,
    model_name: "small",
    dataset: facts.dataset.dataset,
    actions: [{ agent: "shrinking", method, params: {} }],
    state: "completed",
    fidelity: "full",
    failure_kind: null,
    reward: value,
    figures: {},
    parameters: facts.model.parameters,
    dataset_class: spec.dataset_class,
    max_accuracy_drop: spec.constraints.max_accuracy_drop,
  });
  const two = [earlier(1, "octet", 1), earlier(2, "round", 0)];
  assert.deepEqual([1.5, 1], [
    belief("octet", [], { earlier: two }).alpha,
    belief("octet", [], { earlier: two }).beta,
  ]);
  assert.equal(belief("octet", [], { earlier: two }).trials, 0, "of this study");
  const many = Array.from({ length: 40 }, (_, i) => earlier(i, i % 2 ? "octet" : "round", i % 2));
  const { alpha, beta } = belief("octet", [], { earlier: many });
  assert.ok(Math.abs(alpha + beta - 4) < 1e-12, `${alpha} ${beta}`);
});

Deno.test("drawBelief() has the distribution's mean and deviation", () => {
  const random = seededRandom(3);
  for (const [alpha, beta] of [[1, 1], [1.5, 4], [7, 2]] as const) {
    const draws = Array.from({ length: 4000 }, () => drawBelief({ alpha, beta }, random));
    const mean = draws.reduce((sum, one) => sum + one, 0) / draws.length;
    const variance = draws.reduce((sum, one) => sum + (one - mean) ** 2, 0) / draws.length;
    const exact = beliefMoments({ alpha, beta });
    // Five standard errors of 4,000 draws.
    assert.ok(Math.abs(mean - exact.mean) < 5 * exact.deviation / Math.sqrt(4000));
    assert.ok(Math.abs(Math.sqrt(variance) / exact.deviation - 1) < 0.1);
  }
});

Deno.test("the bandit comes back to the method that wins and says what it drew", async () => {
  const trials = [
    base,
    ...[1, 2, 3, 4].map((n) => done(n, 1 + n / 10, ["solve", { bits: 8, damping: n / 100 }])),
    ...[5, 6, 7, 8].map((n) => done(n, -9, ["tune", { bits: 2, steps: 8 * n }])),
    ...[9, 10, 11].map((n) =>
      done(n, -8, ["round", { bits: 2, group_size: [32, 64, 128][n - 9]! }])
    ),
  ];
  const asked = await Promise.all(
    Array.from(
      { length: 40 },
      (_, seed) => bandit.propose(context({ trials, random: seededRandom(seed) })),
    ),
  );
  const solving = asked.filter((one) => one!.actions.some(({ method }) => method === "solve"));
  assert.ok(solving.length > 20, `${solving.length} of 40`);
  const modes = new Set(solving.map((one) => one!.origin.mode));
  assert.deepEqual([...modes].sort(), ["exploit", "explore"]);
  for (const { origin: { reason } } of solving.map((one) => one!)) {
    assert.match(
      reason,
      /^Thompson: \w+ drew 0\.\d\d, .* of 4, of 0\.\d\d ± 0\.\d\d after \d+ trials?; /,
    );
  }
});

Deno.test("every episode of a study by the bandit holds the beliefs after it; of another, none does", async () => {
  const w = world({ max_trials: 8 });
  await run(w, { samplers: [bandit] });
  const episodes = w.records.flatMap((one) => one.type === "episode_closed" ? [one.episode] : []);
  assert.ok(episodes.length >= 8);
  const sums = episodes.map(({ beliefs }) =>
    beliefs!.reduce((sum, { alpha, beta }) => sum + alpha + beta - 2, 0)
  );
  // Each judged trial has a weight of one in all, over the methods of its recipe.
  const weights = sums.map((sum, at) => sum - (sums[at - 1] ?? 0));
  const whole = weights.filter((one) => Math.abs(one - 1) < 1e-9).length;
  // A turn that closes a trial held before moves nothing that its first turn had not moved.
  assert.ok(whole === 8 && Math.abs(sums.at(-1)! - 8) < 1e-9, weights.join(" "));
  const other = world({ max_trials: 4 });
  await run(other, { samplers: [random] });
  for (const one of other.records) {
    if (one.type === "episode_closed") assert.equal(one.episode.beliefs, undefined);
  }
});

Deno.test("a sampler that fails at its beliefs, or goes by none, leaves the episode without", async () => {
  const w = world({ max_trials: 3 });
  const broken = {
    ...bandit,
    beliefs: () => {
      throw new Error("no");
    },
  };
  const { stop } = await run(w, { samplers: [broken] });
  assert.equal(stop, "max_trials");
});
