/** Whole studies with the samplers over the methods' space: killed and resumed, they go on the same. */
import assert from "node:assert/strict";
import { type Sampler, strategyKey } from "../../../core/mod.ts";
import auto from "../../../plugins/search/auto.ts";
import bandit from "../../../plugins/search/bandit.ts";
import evolution from "../../../plugins/search/evolution.ts";
import pareto_neighbourhood from "../../../plugins/search/pareto_neighbourhood.ts";
import random from "../../../plugins/search/random.ts";
import surrogate from "../../../plugins/search/surrogate.ts";
import tpe from "../../../plugins/search/tpe.ts";
import { historyOf, run, world } from "../study_world.ts";

const samplers: readonly Sampler[] = [
  ...[random, evolution, pareto_neighbourhood, bandit, auto, surrogate, tpe],
];
/** Those that ask a model only where enough is measured. */
const learning: readonly Sampler[] = [auto, surrogate, tpe];
// None is held for a late full evaluation: one that is when the study is killed is run once more.
const usual = { max_trials: 9, convergence_episodes: 50, max_full_evaluations: 50 };

for (const sampler of samplers) {
  Deno.test(`a study by ${sampler.name}, killed anywhere and resumed, proposes the same recipes`, async () => {
    const late = learning.includes(sampler);
    const limits = { ...usual, ...(late ? { max_trials: 16 } : {}) };
    const first = world(limits);
    const whole = await run(first, { samplers: [sampler] });
    const keys = (trials: typeof whole.trials) =>
      trials.toSorted((a, b) => a.number - b.number).filter(({ state, strategy }) =>
        strategy !== null && state !== "cancelled"
      )
        .map(({ strategy }) => strategyKey(strategy!.actions));
    const expected = keys(whole.trials);
    assert.ok(expected.length >= 8, `${expected.length} trials`);
    assert.equal(new Set(expected).size, expected.length);
    const closed = first.records.flatMap(({ type }, at) => type === "episode_closed" ? [at] : []);
    for (const at of [closed[4]! + 1, closed[late ? 12 : 6]! + 3]) {
      const again = await run(world(limits), {
        samplers: [sampler],
        history: historyOf(first, at),
      });
      assert.deepEqual(keys(again.trials), expected, `killed after ${at} records`);
    }
  });
}
